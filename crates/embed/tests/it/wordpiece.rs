//! Our WordPiece beside the general-purpose crate's, which is the reference.

use std::io::Write as _;
use std::path::Path;

use gbrain_embed::{PieceId, StaticTable, WordPiece};
use proptest::prelude::*;
use tokenizers::Tokenizer;
use tokenizers::models::wordpiece::WordPiece as ReferenceModel;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;

/// One sentence in each of many languages, and what breaks tokenizers.
const TEXTS: &[&str] = &[
    "",
    " \t\r\n ",
    "The quick brown fox jumps over the lazy dog; it didn't stop for 1,234.56 reasons.",
    "Die Füße größerer Bären überqueren die vereiste Straße.",
    "L'été dernier, nous avons mangé des crêpes à Besançon — c'était très bon !",
    "El pingüino añoró la canción que cantó su niñera en Logroño.",
    "Não há mal que sempre dure, nem coração que não se emocione.",
    "Zażółć gęślą jaźń, a potem idź spać.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Hızlı kahverengi tilki İstanbul'da ıssız bir ağacın altında uyudu.",
    "Một con cáo nhanh nhẹn nhảy qua con chó lười biếng.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Жебракують філософи при ґанку церкви в Гадячі, ще й шатро їхнє п'яне знаємо.",
    "Η γρήγορη αλεπού πηδάει πάνω από το τεμπέλικο σκυλί.",
    "השועל החום המהיר קופץ מעל הכלב העצלן.",
    "الثعلب البني السريع يقفز فوق الكلب الكسول، أليس كذلك؟",
    "روباه قهوه‌ای سریع از روی سگ تنبل می‌پرد.",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है।",
    "দ্রুত বাদামী শিয়াল অলস কুকুরের উপর লাফ দেয়।",
    "வேகமான பழுப்பு நரி சோம்பேறி நாயின் மேல் தாவுகிறது.",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ",
    "敏捷的棕色狐狸跳过了懒狗。",
    "素早い茶色の狐がのろまな犬を飛び越える。カタカナもある!",
    "빠른 갈색 여우가 게으른 개를 뛰어넘는다.",
    "ስፈጣን ቡናማ ቀበሮ ሰነፍ ውሻን ይዘላል።",
    "👩‍👩‍👧 met 🦊 at 10:30 €5 ½ ① ﬁne Ⅷ x² ™ … “quoted” ‘single’ ¿qué? ¡sí!",
    "snake_case kebab-case C++ C# .NET a/b\\c <tag attr=\"v\"> [UNK] [CLS] ##ing $HOME 100%",
    "\u{feff}zero\u{200b}width\u{00ad}soft\u{0301}combining\u{0}nul\u{fffd}replacement\u{7f}del",
];

fn reference(wordpiece: &WordPiece) -> Tokenizer {
    let vocabulary = wordpiece.vocabulary();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for number in 0..vocabulary.len() {
        file.write_all(vocabulary.text_of(PieceId(number as u16))).unwrap();
        file.write_all(b"\n").unwrap();
    }
    let path = file.path().to_str().unwrap().to_owned();
    let model =
        ReferenceModel::builder().files(path).unk_token("[UNK]".to_owned()).build().unwrap();
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_normalizer(Some(BertNormalizer::default())).unwrap();
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer
}

fn ours(wordpiece: &WordPiece, text: &str) -> Vec<u32> {
    let mut pieces = Vec::new();
    wordpiece.pieces(text, |piece| pieces.push(u32::from(piece.0)));
    pieces
}

fn theirs(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    tokenizer.encode(text, false).unwrap().get_ids().to_vec()
}

#[track_caller]
fn check(wordpiece: &WordPiece, tokenizer: &Tokenizer, text: &str) {
    let (ours, theirs) = (ours(wordpiece, text), theirs(tokenizer, text));
    let at = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    assert_eq!(ours, theirs, "first at {at}: {:?}", text.chars().take(400).collect::<String>());
}

#[test]
fn sentences_of_many_languages_are_cut_as_by_the_reference() {
    let table = StaticTable::built_in();
    let tokenizer = reference(table.wordpiece());
    for text in TEXTS {
        check(table.wordpiece(), &tokenizer, text);
    }
    let all = TEXTS.join("\n");
    assert!(ours(table.wordpiece(), &all).len() > 500, "nearly nothing was compared");
    check(table.wordpiece(), &tokenizer, &all);
    let long = "x".repeat(100) + " " + &"é".repeat(101) + " " + &"猫".repeat(300);
    check(table.wordpiece(), &tokenizer, &long);
}

#[test]
fn real_documentation_is_cut_as_by_the_reference() {
    let table = StaticTable::built_in();
    let tokenizer = reference(table.wordpiece());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = 0;
    for entry in walk(&root.join("crates/cli/demo")).into_iter().chain([root.join("README.md")]) {
        let Ok(text) = std::fs::read_to_string(&entry) else { continue };
        check(table.wordpiece(), &tokenizer, &text);
        files += 1;
    }
    assert!(files > 50, "only {files} files were compared");
}

#[test]
fn translated_documentation_is_cut_as_by_the_reference() {
    let Some(data) = std::env::var_os("GBRAIN_TEST_DATA") else {
        eprintln!("SKIPPED: GBRAIN_TEST_DATA is not set: no translated documentation is compared");
        return;
    };
    let archive = Path::new(&data).join("markdown/kubernetes-website.tar.gz");
    let dir = tempfile::tempdir().unwrap();
    let unpacked = std::process::Command::new("tar")
        .arg("-xzf")
        .arg(archive)
        .arg("-C")
        .arg(dir.path())
        .status();
    assert!(unpacked.unwrap().success());
    let table = StaticTable::built_in();
    let tokenizer = reference(table.wordpiece());
    let mut files = walk(dir.path());
    files.sort();
    let (mut compared, mut pieces) = (0, 0);
    for path in files.iter().step_by(40) {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        check(table.wordpiece(), &tokenizer, &text);
        compared += 1;
        pieces += ours(table.wordpiece(), &text).len();
    }
    assert!(compared > 100 && pieces > 100_000, "{compared} files, {pieces} pieces");
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Characters whose properties were settled long ago: the reference's tables are of an old
/// Unicode version.
fn settled_char() -> impl Strategy<Value = char> {
    let range = |from: u32, to: u32| (from..=to).prop_filter_map("a character", char::from_u32);
    prop_oneof![
        8 => range(0, 0x7f),
        2 => range(0x80, 0x17f),
        1 => range(0x300, 0x36f),
        1 => range(0x391, 0x3c9),
        1 => range(0x410, 0x44f),
        1 => range(0x5d0, 0x5ea),
        1 => range(0x621, 0x64a),
        1 => range(0x905, 0x939),
        1 => range(0x2010, 0x2027),
        1 => range(0x3041, 0x3096),
        1 => range(0x4e00, 0x4f00),
        1 => range(0xac00, 0xac80),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_text_is_cut_as_by_the_reference(text in proptest::collection::vec(settled_char(), 0..80)) {
        thread_local! {
            static PAIR: (StaticTable, Tokenizer) = {
                let table = StaticTable::built_in();
                let tokenizer = reference(table.wordpiece());
                (table, tokenizer)
            };
        }
        let text: String = text.into_iter().collect();
        PAIR.with(|(table, tokenizer)| check(table.wordpiece(), tokenizer, &text));
    }
}
