//! Each refusal with its whole message.
