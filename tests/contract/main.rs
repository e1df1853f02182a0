//! The contract: what goes in, what comes out, and that all who speak it agree.

mod agreement;
mod bad_grant;
mod bad_input;
mod functions;
mod responses;
