use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

/// Writes a class file with static methods.
#[derive(Default)]
struct Assembler {
    constants: Vec<Vec<u8>>,
    methods: Vec<u8>,
    method_count: u16,
}

impl Assembler {
    fn constant(&mut self, kind: u8, content: &[u8]) -> u16 {
        self.constants.push([&[kind], content].concat());
        u16::try_from(self.constants.len()).unwrap()
    }

    fn utf8(&mut self, text: &str) -> u16 {
        let length = u16::try_from(text.len()).unwrap();
        self.constant(1, &[&length.to_be_bytes(), text.as_bytes()].concat())
    }

    fn text(&mut self, text: &str) -> u8 {
        let text = self.utf8(text);
        u8::try_from(self.constant(8, &text.to_be_bytes())).unwrap()
    }

    fn class(&mut self, name: &str) -> [u8; 2] {
        let name = self.utf8(name);
        self.constant(7, &name.to_be_bytes()).to_be_bytes()
    }

    fn member(&mut self, class: &str, name: &str, descriptor: &str) -> [u8; 2] {
        let class = self.class(class);
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let pair = self.constant(12, &[name.to_be_bytes(), descriptor.to_be_bytes()].concat());
        self.constant(10, &[class, pair.to_be_bytes()].concat()).to_be_bytes()
    }

    fn method(&mut self, name: &str, descriptor: &str, code: &[u8]) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let attribute = self.utf8("Code");
        let length = u32::try_from(code.len()).unwrap();
        self.method_count += 1;
        for number in [8, name, descriptor, 1, attribute] {
            self.methods.extend(number.to_be_bytes());
        }
        self.methods.extend((length + 12).to_be_bytes());
        // Stack and variable counts, code, no handlers, no attributes.
        self.methods.extend([0, 9, 0, 9]);
        self.methods.extend(length.to_be_bytes());
        self.methods.extend(code);
        self.methods.extend([0; 4]);
    }

    /// Returns an evaluator of a jar that contains only this class, which is opened.
    fn evaluator(mut self, name: &str) -> Evaluator {
        let this = self.class(name);
        let parent = self.class("java/lang/Object");
        let mut file = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 52];
        file.extend(u16::try_from(self.constants.len() + 1).unwrap().to_be_bytes());
        file.extend(self.constants.concat());
        file.extend([[0, 0], this, parent, [0, 0], [0, 0], self.method_count.to_be_bytes()].concat());
        file.extend(&self.methods);
        let mut jar = ZipWriter::new(Cursor::new(Vec::new()));
        jar.start_file(format!("{name}.class"), SimpleFileOptions::default()).unwrap();
        jar.write_all(&file).unwrap();
        Evaluator::new(vec![Jar::open(jar.finish().unwrap().into_inner()).unwrap()], &[name])
    }
}

const RETURN: u8 = 0xB1;

fn static_field(assembler: Assembler, field: &str) -> Result<Value, Error> {
    assembler.evaluator("A").static_field("A", field)
}

#[test]
fn arguments_are_counted() {
    assert_eq!(signature("()V"), (0, false));
    assert_eq!(signature("(ILjava/lang/String;[[Ljava/lang/String;Z)I"), (4, true));
}

#[test]
fn lists_are_made_of_arrays() {
    let mut class = Assembler::default();
    let (one, two) = (class.text("one"), class.text("zwölf"));
    let [text_high, text_low] = class.class("java/lang/String");
    let [list_high, list_low] =
        class.member("java/util/Arrays", "asList", "([Ljava/lang/Object;)Ljava/util/List;");
    let [field_high, field_low] = class.member("A", "WORDS", "Ljava/util/List;");
    let code = [
        [0x05, 0xBD, text_high, text_low].to_vec(),
        vec![0x59, 0x03, 0x12, one, 0x53],
        vec![0x59, 0x04, 0x12, two, 0x53],
        vec![0xB8, list_high, list_low, 0xB3, field_high, field_low, RETURN],
    ];
    class.method("<clinit>", "()V", &code.concat());
    assert_eq!(static_field(class, "WORDS").unwrap().texts("WORDS").unwrap(), ["one", "zwölf"]);
}

#[test]
fn strings_are_built_in_own_methods() {
    let mut class = Assembler::default();
    let (one, two) = (class.text("a|"), class.text("b"));
    let [builder_high, builder_low] = class.class("java/lang/StringBuilder");
    let [init_high, init_low] = class.member("java/lang/StringBuilder", "<init>", "()V");
    let append = "(Ljava/lang/String;)Ljava/lang/StringBuilder;";
    let [append_high, append_low] = class.member("java/lang/StringBuilder", "append", append);
    let [text_high, text_low] = class.member("java/lang/StringBuilder", "toString", "()Ljava/lang/String;");
    let [own_high, own_low] = class.member("A", "made", "()Ljava/lang/String;");
    let [field_high, field_low] = class.member("A", "TEXT", "Ljava/lang/String;");
    let code = [
        [0xBB, builder_high, builder_low, 0x59, 0xB7, init_high, init_low].to_vec(),
        vec![0x12, one, 0xB6, append_high, append_low, 0x12, two, 0xB6, append_high, append_low],
        vec![0xB6, text_high, text_low, 0xB0],
    ];
    class.method("made", "()Ljava/lang/String;", &code.concat());
    class.method("<clinit>", "()V", &[0xB8, own_high, own_low, 0xB3, field_high, field_low, RETURN]);
    assert_eq!(static_field(class, "TEXT").unwrap().to_text("TEXT").unwrap(), "a|b");
}

#[test]
fn counters_run() {
    let mut class = Assembler::default();
    let [field_high, field_low] = class.member("A", "SUM", "I");
    // i = 3; sum = 0; do { sum += i; i -= 1; } while (i > 0)
    let code = [0x06, 0x3B, 0x03, 0x3C, 0x1B, 0x1A, 0x60, 0x3C, 0x84, 0, 0xFF, 0x1A, 0x9D, 0xFF, 0xF8, 0x1B];
    class.method("<clinit>", "()V", &[&code, [0xB3, field_high, field_low, RETURN].as_slice()].concat());
    assert_eq!(static_field(class, "SUM").unwrap().to_int("SUM").unwrap(), 6);
}

#[test]
fn unknown_calls_are_recorded_with_their_arguments() {
    let mut class = Assembler::default();
    let text = class.text("NP < NN");
    let [compile_high, compile_low] = class.member("Tree", "compile", "(Ljava/lang/String;)LTree;");
    let [field_high, field_low] = class.member("A", "PATTERN", "LTree;");
    let code = [0x12, text, 0xB8, compile_high, compile_low, 0xB3, field_high, field_low, RETURN];
    class.method("<clinit>", "()V", &code);
    let value = static_field(class, "PATTERN").unwrap();
    assert_eq!(value.compiled_text("PATTERN").unwrap(), "NP < NN");
    assert_eq!(
        value.to_int("PATTERN").unwrap_err().to_string(),
        "PATTERN: expected a number, found the result of Tree.compile"
    );
}

/// Returns the error message of an initializer that ends with these instructions.
fn problem(code: &[u8]) -> String {
    let mut class = Assembler::default();
    let [high, low] = class.member("B", "size", "()I");
    let code: Vec<u8> = [&[0xB8, high, low], code].concat();
    class.method("<clinit>", "()V", &code);
    static_field(class, "X").unwrap_err().to_string()
}

#[test]
fn unsupported_code_is_reported() {
    assert_eq!(problem(&[0x57, RETURN]), "A.<clinit> at byte 3: the result of B.size is dropped");
    assert_eq!(
        problem(&[0x9A, 0, 3, RETURN]),
        "A.<clinit> at byte 3: the branch depends on code that is not run"
    );
    assert_eq!(problem(&[0x78]), "A.<clinit> at byte 3: the instruction 0x78 is not supported");
    assert_eq!(problem(&[0xA7, 0, 0]), "A.<clinit> at byte 3: the initializer runs too many instructions");
    assert_eq!(problem(&[0x3A, 1]), "a class file is truncated at byte 5");
    assert!(static_field(Assembler::default(), "X").unwrap_err().to_string().contains("no static field X"));
}
