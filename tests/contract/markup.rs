//! Parses the pages of the widget strictly, and refuses any element or attribute that a page must not
//! contain.

/// The elements that a page may have: those of AWS's samples of custom widgets.
const ELEMENTS: [&str; 23] = [
    "a",
    "b",
    "cwdb-action",
    "div",
    "form",
    "h2",
    "h3",
    "input",
    "label",
    "option",
    "p",
    "path",
    "rect",
    "select",
    "span",
    "style",
    "svg",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
];

/// The attributes that an element may have. None of them loads or runs anything.
const ATTRIBUTES: [&str; 18] = [
    "action",
    "class",
    "confirmation",
    "d",
    "display",
    "endpoint",
    "height",
    "maxlength",
    "name",
    "preserveAspectRatio",
    "selected",
    "title",
    "type",
    "value",
    "viewBox",
    "width",
    "x",
    "y",
];

/// Elements without an end tag.
const VOID: [&str; 1] = ["input"];

/// An element of a page, in the order of the start tags.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// The unescaped text of the element and of the elements in it.
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Returns the elements of `page`. Panics at anything that only a lenient parser reads.
#[track_caller]
pub(crate) fn parsed(page: &str) -> Vec<Element> {
    let (mut elements, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut rest = page;
    while !rest.is_empty() {
        let (text, behind) = rest.split_once('<').unwrap_or((rest, ""));
        assert!(!text.contains('>'), "a stray > in {text}");
        for element in &open {
            elements[*element].text.push_str(&unescaped(text));
        }
        if behind.is_empty() {
            break;
        }
        let (tag, after) = behind.split_once('>').expect("an end of the tag");
        assert!(!tag.contains('<'), "a stray < in {tag}");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().expect("an open element");
            assert_eq!(elements[closed].name, name, "not nested");
            continue;
        }
        let element = element(tag);
        if !VOID.contains(&element.name.as_str()) {
            open.push(elements.len());
        }
        elements.push(element);
    }
    assert!(open.is_empty(), "{} elements are open", open.len());
    elements
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let (attribute, behind) = rest.split_once("=\"").expect("a value in quotes");
        let (value, after) = behind.split_once('"').expect("the end of a value");
        attributes.push((attribute.to_owned(), unescaped(value)));
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    Element {
        name: name.to_owned(),
        attributes,
        text: String::new(),
    }
}

fn unescaped(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
    ];
    let mut plain = text.to_owned();
    for (entity, character) in entities {
        plain = plain.replace(entity, character);
    }
    plain.replace("&amp;", "&")
}

/// Checks that `page` has only the elements and attributes of the lists and exactly one style, and that
/// nothing in it is loaded or run.
#[track_caller]
pub(crate) fn assert_harmless(page: &str) {
    let elements = parsed(page);
    for element in &elements {
        let name = element.name.as_str();
        assert!(ELEMENTS.contains(&name), "element {name}");
        for (attribute, value) in &element.attributes {
            assert!(
                ATTRIBUTES.contains(&attribute.as_str()),
                "attribute {attribute} of {name}"
            );
            let executed = attribute.starts_with("on") || value.contains("javascript:");
            assert!(!executed, "{attribute}={value}");
        }
    }
    let styles: Vec<_> = elements.iter().filter(|one| one.name == "style").collect();
    assert_eq!(styles.len(), 1, "one style element");
    for loaded in ["url(", "@import", "expression(", "http"] {
        assert!(!styles[0].text.contains(loaded), "{loaded} in the style");
    }
}

#[test]
#[should_panic(expected = "element script")]
fn assert_harmless_refuses_a_script() {
    assert_harmless("<style></style><script>x</script>");
}

#[test]
#[should_panic(expected = "attribute onclick of div")]
fn assert_harmless_refuses_an_event_handler() {
    assert_harmless("<style></style><div onclick=\"x\"></div>");
}

#[test]
#[should_panic(expected = "attribute href of a")]
fn assert_harmless_refuses_a_link() {
    assert_harmless("<style></style><a href=\"https://example.com\">x</a>");
}
