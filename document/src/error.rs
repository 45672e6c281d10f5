//! Errors as clients see them: MongoDB's numeric code, its name, and a message of ours.
//!
//! The codes and names are those of MongoDB's error code list; a code that has no name there is
//! shown as `Location<code>`, as MongoDB does.

use std::fmt;

use crate::DocBuf;

/// An error with MongoDB's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// MongoDB's error code.
    pub code: i32,
    /// What went wrong, for a person.
    pub message: String,
    /// Fields that the reply shows beside code and message, such as `keyPattern` and `keyValue`.
    pub details: Option<Box<DocBuf>>,
}

/// The result of what may fail with a MongoDB code.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this code (see [`code`]) and message.
    pub fn new(code: i32, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), details: None }
    }

    /// The error with fields for the reply.
    #[must_use]
    pub fn with_details(mut self, details: DocBuf) -> Error {
        self.details = Some(Box::new(details));
        self
    }

    /// The name of the code.
    pub fn code_name(&self) -> String {
        code::name(self.code)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.code_name(), self.code, self.message)
    }
}

impl std::error::Error for Error {}

macro_rules! codes {
    ($($constant:ident = $number:literal $name:literal;)*) => {
        /// MongoDB's error codes.
        pub mod code {
            $(#[doc = concat!("`", $name, "`")] pub const $constant: i32 = $number;)*

            /// The name of a code; `Location<code>` for those without one.
            pub fn name(code: i32) -> String {
                match code {
                    $($number => $name.to_owned(),)*
                    other => format!("Location{other}"),
                }
            }
        }
    };
}

codes! {
    OK = 0 "OK";
    INTERNAL_ERROR = 1 "InternalError";
    BAD_VALUE = 2 "BadValue";
    NO_SUCH_KEY = 4 "NoSuchKey";
    GRAPH_CONTAINS_CYCLE = 5 "GraphContainsCycle";
    FAILED_TO_PARSE = 9 "FailedToParse";
    UNSUPPORTED_FORMAT = 12 "UnsupportedFormat";
    UNAUTHORIZED = 13 "Unauthorized";
    TYPE_MISMATCH = 14 "TypeMismatch";
    OVERFLOW = 15 "Overflow";
    INVALID_LENGTH = 16 "InvalidLength";
    PROTOCOL_ERROR = 17 "ProtocolError";
    ILLEGAL_OPERATION = 20 "IllegalOperation";
    INVALID_BSON = 22 "InvalidBSON";
    NAMESPACE_NOT_FOUND = 26 "NamespaceNotFound";
    INDEX_NOT_FOUND = 27 "IndexNotFound";
    PATH_NOT_VIABLE = 28 "PathNotViable";
    NON_EXISTENT_PATH = 29 "NonExistentPath";
    INVALID_PATH = 30 "InvalidPath";
    CONFLICTING_UPDATE_OPERATORS = 40 "ConflictingUpdateOperators";
    CURSOR_NOT_FOUND = 43 "CursorNotFound";
    NO_MATCHING_DOCUMENT = 47 "NoMatchingDocument";
    NAMESPACE_EXISTS = 48 "NamespaceExists";
    MAX_TIME_MS_EXPIRED = 50 "MaxTimeMSExpired";
    DOLLAR_PREFIXED_FIELD_NAME = 52 "DollarPrefixedFieldName";
    INVALID_ID_FIELD = 53 "InvalidIdField";
    NOT_SINGLE_VALUE_FIELD = 54 "NotSingleValueField";
    INVALID_DB_REF = 55 "InvalidDBRef";
    EMPTY_FIELD_NAME = 56 "EmptyFieldName";
    DOTTED_FIELD_NAME = 57 "DottedFieldName";
    COMMAND_NOT_FOUND = 59 "CommandNotFound";
    IMMUTABLE_FIELD = 66 "ImmutableField";
    CANNOT_CREATE_INDEX = 67 "CannotCreateIndex";
    INDEX_ALREADY_EXISTS = 68 "IndexAlreadyExists";
    INVALID_OPTIONS = 72 "InvalidOptions";
    INVALID_NAMESPACE = 73 "InvalidNamespace";
    NO_REPLICATION_ENABLED = 76 "NoReplicationEnabled";
    INDEX_OPTIONS_CONFLICT = 85 "IndexOptionsConflict";
    INDEX_KEY_SPECS_CONFLICT = 86 "IndexKeySpecsConflict";
    OPERATION_FAILED = 96 "OperationFailed";
    FAIL_POINT_SET_FAILED = 105 "FailPointSetFailed";
    NOT_EXACT_VALUE_FIELD = 111 "NotExactValueField";
    WRITE_CONFLICT = 112 "WriteConflict";
    COMMAND_NOT_SUPPORTED = 115 "CommandNotSupported";
    CONFLICTING_OPERATION_IN_PROGRESS = 117 "ConflictingOperationInProgress";
    DOCUMENT_VALIDATION_FAILURE = 121 "DocumentValidationFailure";
    NOT_A_REPLICA_SET = 123 "NotAReplicaSet";
    COMMAND_FAILED = 125 "CommandFailed";
    CAPPED_POSITION_LOST = 136 "CappedPositionLost";
    DURATION_OVERFLOW = 159 "DurationOverflow";
    INCOMPATIBLE_COLLATION_VERSION = 161 "IncompatibleCollationVersion";
    VIEW_DEPTH_LIMIT_EXCEEDED = 165 "ViewDepthLimitExceeded";
    COMMAND_NOT_SUPPORTED_ON_VIEW = 166 "CommandNotSupportedOnView";
    OPTION_NOT_SUPPORTED_ON_VIEW = 167 "OptionNotSupportedOnView";
    INVALID_PIPELINE_OPERATOR = 168 "InvalidPipelineOperator";
    CANNOT_INDEX_PARALLEL_ARRAYS = 171 "CannotIndexParallelArrays";
    INVALID_VIEW_DEFINITION = 182 "InvalidViewDefinition";
    INVALID_INDEX_SPECIFICATION_OPTION = 197 "InvalidIndexSpecificationOption";
    JS_INTERPRETER_FAILURE = 139 "JSInterpreterFailure";
    QUERY_PLAN_KILLED = 175 "QueryPlanKilled";
    EXCEEDED_MEMORY_LIMIT = 146 "ExceededMemoryLimit";
    CANNOT_BUILD_INDEX_KEYS = 201 "CannotBuildIndexKeys";
    INVALID_UUID = 207 "InvalidUUID";
    QUERY_FEATURE_NOT_ALLOWED = 224 "QueryFeatureNotAllowed";
    MAX_SUB_PIPELINE_DEPTH_EXCEEDED = 232 "MaxSubPipelineDepthExceeded";
    CONVERSION_FAILURE = 241 "ConversionFailure";
    NO_SUCH_TRANSACTION = 251 "NoSuchTransaction";
    OPERATION_NOT_SUPPORTED_IN_TRANSACTION = 263 "OperationNotSupportedInTransaction";
    NO_QUERY_EXECUTION_PLANS = 291 "NoQueryExecutionPlans";
    AMBIGUOUS_INDEX_KEY_PATTERN = 181 "AmbiguousIndexKeyPattern";
    MERGE_STAGE_NO_MATCHING_DOCUMENT = 13113 "MergeStageNoMatchingDocument";
    QUERY_EXCEEDED_MEMORY_LIMIT = 292 "QueryExceededMemoryLimitNoDiskUseAllowed";
    CANNOT_CONVERT_INDEX_TO_UNIQUE = 359 "CannotConvertIndexToUnique";
    COLLECTION_UUID_MISMATCH = 361 "CollectionUUIDMismatch";
    API_STRICT_ERROR = 323 "APIStrictError";
    API_VERSION_ERROR = 322 "APIVersionError";
    DUPLICATE_KEY = 11000 "DuplicateKey";
    INTERRUPTED = 11601 "Interrupted";
    BSON_OBJECT_TOO_LARGE = 10334 "BSONObjectTooLarge";
}
