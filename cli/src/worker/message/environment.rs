//! The environment variables with which a command gets its message.

use crate::worker::queue::Message;

/// Longest value of the variable with the attributes, in bytes. Linux limits one variable to 128 KiB
/// (`MAX_ARG_STRLEN`, <https://man7.org/linux/man-pages/man2/execve.2.html>).
const ATTRIBUTES_MAX: usize = 96 * 1024;

/// Returns the environment variables that describe `message`.
pub(super) fn variables(message: &Message) -> Vec<(String, String)> {
    let mut pairs = vec![
        ("LOCKSTEP_MESSAGE_ID".into(), message.id.clone()),
        (
            "LOCKSTEP_RECEIVE_COUNT".into(),
            message.receive_count.to_string(),
        ),
    ];
    let attributes = serde_json::to_string(&message.attributes).unwrap_or_default();
    if attributes.len() <= ATTRIBUTES_MAX {
        pairs.push(("LOCKSTEP_MESSAGE_ATTRIBUTES".into(), attributes));
    } else {
        let (id, bytes) = (&message.id, attributes.len());
        tracing::warn!(
            event = "attributes_omitted",
            id,
            bytes,
            "the attributes are too long for an environment variable: the command starts without LOCKSTEP_MESSAGE_ATTRIBUTES"
        );
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_the_id_and_receive_count_and_the_attributes_as_json() {
        let mut message = Message::sample("body");
        message.attributes.insert("kind".into(), "a \"b\"".into());

        let pairs = variables(&message);

        let expected = [
            ("LOCKSTEP_MESSAGE_ID", "id-1"),
            ("LOCKSTEP_RECEIVE_COUNT", "1"),
            ("LOCKSTEP_MESSAGE_ATTRIBUTES", r#"{"kind":"a \"b\""}"#),
        ];
        assert_eq!(pairs, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }

    #[test]
    fn attributes_too_long_for_a_variable_are_omitted_and_the_rest_stays() {
        let mut message = Message::sample("body");
        let (name, big) = ("big".into(), "x".repeat(ATTRIBUTES_MAX));
        message.attributes.insert(name, big);

        assert_eq!(variables(&message).len(), 2);
    }
}
