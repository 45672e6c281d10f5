//! The smallest client that a real MongoDB understands: one command out, one reply in, as `OP_MSG`
//! with a single body section, over a blocking socket
//! (<https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/>).
//!
//! It is there to ask the oracle. It needs a server on loopback without authentication, knows no
//! retries, and panics where the connection fails: then there is nothing to compare with.
//!
//! | offset | size | meaning (little-endian) |
//! |---|---|---|
//! | 0 | 4 | message length, this field included |
//! | 4 | 4 | request id |
//! | 8 | 4 | id of the request that this answers |
//! | 12 | 4 | operation code, 2013 |
//! | 16 | 4 | flags, none used |
//! | 20 | 1 | section kind, 0 |
//! | 21 | rest | the command, BSON |

use std::io::{Read, Write};
use std::net::TcpStream;

use bson::raw::cstr;
use bson::{RawDocument, RawDocumentBuf};

use crate::server::Server;

const OP_MSG: i32 = 2013;
const HEADER_BYTES: usize = 21;

/// A connection to a real MongoDB.
pub(crate) struct Mongod {
    socket: TcpStream,
    last_request: i32,
}

impl Mongod {
    /// The URI of the MongoDB to compare with, if the environment names one.
    pub(crate) fn uri() -> Option<String> {
        std::env::var("BINDERY_MONGOD_URI").ok().filter(|uri| !uri.is_empty())
    }

    /// Connects to `mongodb://host:port[/...]`.
    pub(crate) fn connect(uri: &str) -> Self {
        let address = uri.strip_prefix("mongodb://").expect("BINDERY_MONGOD_URI starts with mongodb://");
        let address = address.split(['/', '?']).next().expect("split gives one part");
        let socket = TcpStream::connect(address).unwrap_or_else(|e| panic!("no MongoDB answers at {address}: {e}"));
        socket.set_nodelay(true).expect("a TCP socket takes TCP_NODELAY");
        Self { socket, last_request: 0 }
    }

    /// Sends without waiting. Replies come in the order of the requests.
    pub(crate) fn send(&mut self, db: &str, command: &RawDocument) {
        let mut body = command.to_owned();
        body.append(cstr!("$db"), db);
        let length = HEADER_BYTES + body.as_bytes().len();
        self.last_request = self.last_request.wrapping_add(1);
        let mut message = Vec::with_capacity(length);
        for word in [length as i32, self.last_request, 0, OP_MSG, 0] {
            message.extend_from_slice(&word.to_le_bytes());
        }
        message.push(0);
        message.extend_from_slice(body.as_bytes());
        self.socket.write_all(&message).expect("the oracle takes a message");
    }

    /// Waits for the next reply.
    pub(crate) fn receive(&mut self) -> RawDocumentBuf {
        let mut header = [0; HEADER_BYTES];
        self.socket.read_exact(&mut header).expect("the oracle replies");
        let length = i32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let mut body = vec![0; usize::try_from(length).expect("a length") - HEADER_BYTES];
        self.socket.read_exact(&mut body).expect("the oracle's reply is whole");
        RawDocumentBuf::from_bytes(body).expect("the oracle's reply is BSON")
    }
}

impl Server for Mongod {
    fn run(&mut self, db: &str, command: &RawDocument) -> RawDocumentBuf {
        self.send(db, command);
        self.receive()
    }

    fn run_all(&mut self, db: &str, commands: &[RawDocumentBuf]) -> Vec<RawDocumentBuf> {
        // A window of requests in flight: the round trip is most of a small command's time, and
        // without a bound both sides could wait for the other to read.
        const WINDOW: usize = 32;
        let mut replies = Vec::with_capacity(commands.len());
        for (sent, command) in commands.iter().enumerate() {
            if sent - replies.len() == WINDOW {
                replies.push(self.receive());
            }
            self.send(db, command);
        }
        while replies.len() < commands.len() {
            replies.push(self.receive());
        }
        replies
    }
}
