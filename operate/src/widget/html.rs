//! Writes HTML. Text and values of attributes are escaped. Names of elements and attributes are string
//! literals of the program.

use lockstep::contract::is_hidden;
use serde_json::Value;

/// A page under construction.
#[derive(Debug, Default)]
pub struct Html {
    body: String,
    style: String,
}

/// Names and values of attributes.
pub type Attributes<'a> = &'a [(&'static str, &'a str)];

/// A link or a button that invokes a function and replaces the page by the result.
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// The text of the link or button.
    pub label: &'a str,
    /// Its class: `link`, or one of the classes of buttons in the console.
    pub class: &'a str,
    /// ARN of the function.
    pub endpoint: &'a str,
    /// The event, to which CloudWatch adds `widgetContext`.
    pub body: &'a Value,
    /// The question that the console asks before the call.
    pub confirmation: Option<&'a str>,
}

impl Html {
    /// Adds rules to the page's only style element.
    pub fn style(&mut self, rules: &'static str) {
        self.style.push_str(rules);
    }

    /// Returns the finished page.
    #[must_use]
    pub fn finish(self) -> String {
        format!("<style>{}</style>{}", self.style, self.body)
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.body);
    }

    /// Adds an element that has no end tag, or no content.
    pub fn void(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.body.push('<');
        self.body.push_str(tag);
        for (name, value) in attributes {
            self.body.push(' ');
            self.body.push_str(name);
            self.body.push_str("=\"");
            escape(value, &mut self.body);
            self.body.push('"');
        }
        self.body.push('>');
    }

    /// Adds an element with what `content` writes.
    pub fn element(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Self),
    ) {
        self.void(tag, attributes);
        content(self);
        self.body.push_str("</");
        self.body.push_str(tag);
        self.body.push('>');
    }

    /// Adds an element with text.
    pub fn line(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(tag, attributes, |html| html.text(text));
    }

    /// Adds a link or a button, followed by its `cwdb-action`, which applies to the element before it.
    pub fn action(&mut self, action: &Action<'_>) {
        self.line("a", &[("class", action.class)], action.label);
        let mut attributes = vec![
            ("action", "call"),
            ("display", "widget"),
            ("endpoint", action.endpoint),
        ];
        attributes.extend(action.confirmation.map(|text| ("confirmation", text)));
        self.element("cwdb-action", &attributes, |html| html.json(action.body));
    }

    /// Adds JSON. The characters `<`, `>` and `&` are written as JSON escapes, so that the console reads the
    /// same JSON whether it treats the element as text or as markup.
    fn json(&mut self, value: &Value) {
        for character in value.to_string().chars() {
            match character {
                '<' => self.body.push_str("\\u003c"),
                '>' => self.body.push_str("\\u003e"),
                '&' => self.body.push_str("\\u0026"),
                other => self.body.push(other),
            }
        }
    }
}

/// Escapes text for elements and for attributes in double quotes
/// (<https://html.spec.whatwg.org/multipage/parsing.html>). Invisible characters become U+FFFD.
fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            hidden if is_hidden(hidden) => out.push(char::REPLACEMENT_CHARACTER),
            other => out.push(other),
        }
    }
}

/// Adds the head of a table.
pub fn headings(html: &mut Html, titles: &[&str]) {
    html.element("tr", &[], |html| {
        for title in titles {
            html.line("th", &[], title);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_text_becomes_markup() {
        let hostile = r#"<script>alert("1")</script>&amp;' onclick=x"#;
        let mut html = Html::default();

        html.line("td", &[("title", hostile)], hostile);

        let escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;&#39; onclick=x";
        let expected = format!(r#"<style></style><td title="{escaped}">{escaped}</td>"#);
        assert_eq!(html.finish(), expected);
    }

    #[test]
    fn the_body_of_an_action_is_json_without_markup() {
        let body = json!({ "holder": "a</cwdb-action><script>&quot;" });
        let mut html = Html::default();

        html.action(&Action {
            label: "Evict",
            class: "btn",
            endpoint: "arn",
            body: &body,
            confirmation: Some("Evict \"a\"?"),
        });

        let html = html.finish();
        assert_eq!(html.matches("</cwdb-action>").count(), 1, "{html}");
        let confirmation = "confirmation=\"Evict &quot;a&quot;?\"";
        assert!(html.contains(confirmation), "{html}");
        let (_, rest) = html.split_once("?\">").unwrap();
        let text = rest.strip_suffix("</cwdb-action>").unwrap();
        assert!(!text.contains(['<', '>', '&']), "{text}");
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read, body);
    }
}
