//! `$regexMatch`, `$regexFind`, `$regexFindAll`.

use bindery_document::{Builder, Result, Text, Value};

use super::registry::Entry;
use super::string::{code_points, string_of};
use super::{Node, Operator, ParseContext, Scope, Val, fail, parse, type_name};
use crate::regex::{Match, Regex, RegexError};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::parsed("$regexMatch", |argument, ctx| parse_regex("$regexMatch", Answer::Whether, argument, ctx)),
    Entry::parsed("$regexFind", |argument, ctx| parse_regex("$regexFind", Answer::First, argument, ctx)),
    Entry::parsed("$regexFindAll", |argument, ctx| parse_regex("$regexFindAll", Answer::All, argument, ctx)),
];

#[derive(Clone, Copy, Debug)]
enum Answer {
    Whether,
    First,
    All,
}

#[derive(Debug)]
struct RegexOperator {
    name: &'static str,
    answer: Answer,
    input: Node,
    regex: Node,
    options: Option<Node>,
    /// Set once pattern and options are constant; the inner `None` is a null pattern.
    compiled: Option<Option<Regex>>,
}

fn parse_regex(name: &'static str, answer: Answer, argument: Value<'_>, ctx: &mut ParseContext) -> Result<Node> {
    let Value::Document(doc) = argument else {
        return fail(51103, format!("{name} takes a document"));
    };
    let (mut input, mut regex, mut options) = (None, None, None);
    for element in doc {
        let place = match element.key {
            b"input" => &mut input,
            b"regex" => &mut regex,
            b"options" => &mut options,
            _ => return fail(31024, format!("{name} does not know the field '{}'", element.key_str())),
        };
        *place = Some(parse::parse(element.value(), ctx)?);
    }
    let Some(input) = input else {
        return fail(31022, format!("{name} needs 'input'"));
    };
    let Some(regex) = regex else {
        return fail(31023, format!("{name} needs 'regex'"));
    };
    Ok(Node::Operator(Box::new(RegexOperator { name, answer, input, regex, options, compiled: None })))
}

impl RegexOperator {
    fn compile(&self, regex: &Val<'_>, options: Option<&Val<'_>>) -> Result<Option<Regex>> {
        let name = self.name;
        let (pattern, own_options) = match regex.or_null() {
            Value::Null | Value::Undefined => return Ok(None),
            Value::String(text) => (text.as_str(), ""),
            Value::Regex { pattern, options } => (pattern.as_str(), options.as_str()),
            _ => return fail(51105, format!("{name}'s regex must be a string or a regex, not {}", type_name(regex))),
        };
        let mut flags = own_options;
        if let Some(options) = options
            && !options.is_nullish()
        {
            let Some(Value::String(text)) = options.get() else {
                return fail(51106, format!("{name}'s options must be a string, not {}", type_name(options)));
            };
            if !own_options.is_empty() {
                return fail(51107, format!("{name}: options are given both in 'regex' and in 'options'"));
            }
            flags = text.as_str();
        }
        if pattern.contains('\0') {
            return fail(51109, format!("{name}: the pattern holds a zero byte"));
        }
        if flags.contains('\0') {
            return fail(51110, format!("{name}: the options hold a zero byte"));
        }
        Regex::new(pattern, flags).map(Some).or_else(|error| {
            let code = if matches!(error, RegexError::Option(_)) { 51108 } else { 51111 };
            fail(code, format!("{name}: {error}"))
        })
    }

    fn find(&self, regex: &Regex, text: &[u8], start: usize) -> Result<Option<Match>> {
        regex.find_at(text, start).or_else(|error| fail(51156, format!("{}: {}", self.name, error.0)))
    }

    fn answer(&self, regex: &Regex, text: &[u8]) -> Result<Val<'static>> {
        match self.answer {
            Answer::Whether => Ok(Val::from(self.find(regex, text, 0)?.is_some())),
            Answer::First => Ok(match self.find(regex, text, 0)? {
                None => Val::NULL,
                Some(found) => {
                    let mut builder = Builder::new();
                    append_match(&found, text, code_points(&text[..found.start]), &mut builder);
                    Val::Document(builder.finish())
                }
            }),
            Answer::All => self.find_all(regex, text),
        }
    }

    /// All matches that do not overlap; after an empty one the search goes on a character later.
    fn find_all(&self, regex: &Regex, text: &[u8]) -> Result<Val<'static>> {
        let mut builder = Builder::new();
        let mut digits = [0; 20];
        let (mut at, mut counted, mut character, mut index) = (0, 0, 0, 0);
        while let Some(found) = self.find(regex, text, at)? {
            character += code_points(&text[counted..found.start]);
            counted = found.start;
            let open = builder.open_document(bindery_document::build::index_key(index, &mut digits));
            append_match(&found, text, character, &mut builder);
            builder.close(open);
            index += 1;
            at = found.end;
            if found.start == found.end {
                at += 1;
                while text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
                    at += 1;
                }
            }
            if at >= text.len() {
                break;
            }
        }
        Ok(Val::Array(builder.finish()))
    }
}

fn append_match(found: &Match, text: &[u8], character: usize, builder: &mut Builder) {
    let part = |start: usize, end: usize| Value::String(Text(text.get(start..end).unwrap_or_default()));
    builder.append("match", part(found.start, found.end));
    builder.append("idx", character as i32);
    let open = builder.open_array("captures");
    for (index, group) in found.groups.iter().enumerate() {
        builder.append_index(index, group.map_or(Value::Null, |(start, end)| part(start, end)));
    }
    builder.close(open);
}

impl Operator for RegexOperator {
    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Val<'a>> {
        let input = self.input.evaluate(scope)?;
        let fresh;
        let regex = match &self.compiled {
            Some(compiled) => compiled,
            None => {
                let regex = self.regex.evaluate(scope)?;
                let options = self.options.as_ref().map(|options| options.evaluate(scope)).transpose()?;
                fresh = self.compile(&regex, options.as_ref())?;
                &fresh
            }
        };
        if !input.is_nullish() && string_of(&input).is_none() {
            return fail(51104, format!("{}'s input must be a string, not {}", self.name, type_name(&input)));
        }
        match (string_of(&input), regex) {
            (Some(text), Some(regex)) => self.answer(regex, text),
            _ => Ok(match self.answer {
                Answer::Whether => Val::from(false),
                Answer::First => Val::NULL,
                Answer::All => super::array::array_of([]),
            }),
        }
    }

    fn operands(&self) -> Vec<&Node> {
        [&self.input, &self.regex].into_iter().chain(&self.options).collect()
    }

    fn operands_mut(&mut self) -> Vec<&mut Node> {
        [&mut self.input, &mut self.regex].into_iter().chain(&mut self.options).collect()
    }

    fn simplify(&mut self, scope: &Scope<'_>) -> Result<Option<Node>> {
        let constant = self.regex.is_constant() && self.options.as_ref().is_none_or(Node::is_constant);
        if constant {
            let regex = self.regex.evaluate(scope)?.detach();
            let options = match &self.options {
                Some(options) => Some(options.evaluate(scope)?.detach()),
                None => None,
            };
            self.compiled = Some(self.compile(&regex, options.as_ref())?);
        }
        Ok(None)
    }
}
