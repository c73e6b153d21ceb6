//! Scrubbed and unscrubbed texts of each family.
//!
//! Precision and recall on labelled data are measured and held by `gbrain-bench`.

use gbrain_core::scrub::{MARKER, ScrubError, ScrubFamily, Scrubber, pattern};
use proptest::prelude::*;

/// Every part between `«` and `»` is found, as this family and as nothing more.
fn check(family: ScrubFamily, marked: &str) {
    let text: String = marked.chars().filter(|c| !matches!(c, '«' | '»')).collect();
    let expected: Vec<&str> =
        marked.split('«').skip(1).filter_map(|rest| rest.split('»').next()).collect();
    let found = Scrubber::default().find(&text);
    let shown: Vec<_> = found.iter().map(|f| (f.family, &text[f.start..f.end])).collect();
    let expected: Vec<_> = expected.into_iter().map(|part| (family, part)).collect();
    assert_eq!(shown, expected, "in {text:?}");
}

fn kept(texts: &[&str]) {
    for text in texts {
        let scrubbed = Scrubber::default().scrub(text);
        assert_eq!(scrubbed.text, *text, "found {:?}", scrubbed.found);
        assert!(!scrubbed.changed());
    }
}

fn scrub(text: &str) -> String {
    Scrubber::default().scrub(text).text
}

#[test]
fn scrubber_matches_the_reference() {
    assert_eq!(scrub(""), "");
    assert_eq!(
        scrub("mail a@b.co and c.d+e@f-g.example.org."),
        format!("mail {MARKER} and {MARKER}.")
    );
    kept(&["in 2023 and 2024", "4111 1111 1111 1112", "1234567812345678", "see #123456"]);
    assert_eq!(
        scrub("Authorization: Bearer abcdefghij"),
        format!("Authorization: Bearer {MARKER}")
    );
    assert_eq!(scrub("bearer abc.def-ghi_123"), format!("Bearer {MARKER}"));
    for hostile in
        ["a".repeat(10_000), "@".repeat(10_000), "1-".repeat(5_000), "eyJ.".repeat(2_500)]
    {
        assert_eq!(scrub(&hostile), hostile);
    }
}

#[test]
fn emails() {
    for text in [
        "«ada@example.com»",
        "write to «ada.quill+x@mail.example.co.uk».",
        "<«a_b%c@x-y.io»>, «b@c.de»;«d@e.fr»",
        "mailto:«ada@example.com»?subject=x",
        "请联系«ada@example.com»谢谢",
    ] {
        check(ScrubFamily::Email, text);
    }
    kept(&[
        "ada@example",
        "@ada",
        "a@b.c",
        "ada @ example.com",
        "npm i @types/node@20.1.0",
        "a@1.2",
    ]);
}

#[test]
fn emails_beyond_ascii() {
    for text in [
        "«müller@example.com»",
        "пишите на «иван@пример.рф», спасибо",
        "«用户@例子.中国»",
        "«ada@bücher.example»",
        "«संपर्क@डाटामेल.भारत»",
    ] {
        check(ScrubFamily::EmailUnicode, text);
    }
    kept(&["caf\u{e9}@", "é@é", "„@“.de"]);
}

#[test]
fn phones() {
    for text in [
        "call «415-555-0132»",
        "«(415) 555-0132», «(415)555-0132», «(415)5550132»",
        "«415.555.0132» «415 555 0132» «415-5550132»",
        "«+1 415 555 0132» «+1-415-555-0132» «+1 (415) 555-0132» «+1415 555 0132»",
        "«345-899-3560»x4587",
    ] {
        check(ScrubFamily::Phone, text);
    }
    kept(&["4155550132", "1415-555-01321", "415-555-013", "415-5555-0132", "41-555-0132"]);
}

#[test]
fn phones_with_a_country() {
    for text in [
        "«+14155550132»",
        "«+44 7700 900123», «+447700900123»",
        "«+46 (0)8 928 571 38»",
        "«0041 44 668 18 00» «00447911123456»",
        "«+1-903-140-4508x769» «+49-494949 ext. 49»",
        "«+33 3 34 23 12 99»",
    ] {
        check(ScrubFamily::PhoneInternational, text);
    }
    kept(&[
        "+1500000 users",
        "UTC+0530",
        "650+253+1234",
        "0012345678",
        "+0 123 456 789",
        "C++20 2020",
    ]);
}

#[test]
fn numbers_of_things_and_of_rows() {
    kept(&[
        "123 456 7890 rows",
        "234\u{a0}567\u{a0}8901 rows in the table",
        "inserted 415 555 0132 records",
        "SKU 415-555-0132",
        "SKU: 415-555-0132, sku-415-555-0132, SKU#415-555-0132",
        "part no. 415-555-0132 and AB-415-555-0132",
        "415-555-0132-XL in stock",
        "item number 123-45-6789",
        "123 45 6789 rows",
        "000 45 6789, 123.45.6789.1, 1 123 45 6789, 123 45 6789 1",
    ]);
    check(ScrubFamily::Phone, "call «415 555 0132» tomorrow, TEL-«415-555-0132»");
    check(ScrubFamily::Phone, "depart «415-555-0132», the party's «415-555-0132»");
}

#[test]
fn numbers_as_they_are_typeset() {
    for text in [
        "call «415\u{a0}555\u{a0}0132»",
        "«415\u{2013}555\u{2013}0132», «415\u{2011}555\u{2011}0132»",
        "«(415)  555-0132», «415  555  0132»",
        "«４１５-５５５-０１３２»",
        "«41\u{200b}5-555-01\u{feff}32»",
        "tel:«415%2D555%2D0132»",
    ] {
        check(ScrubFamily::Phone, text);
    }
    for text in [
        "«123\u{2011}45\u{2011}6789» «123\u{2013}45\u{2013}6789»",
        "«123.45.6789», «123 45 6789», «123\u{a0}45\u{a0}6789», «123  45  6789»",
        "«１２３-４５-６７８９», «123-\u{200b}45-6789»",
    ] {
        check(ScrubFamily::Ssn, text);
    }
    for text in [
        "«4111.1111.1111.1111», «3782.822463.10005»",
        "«4111\u{a0}1111\u{202f}1111\u{2009}1111», «4111  1111  1111  1111»",
        "«4111\u{2013}1111\u{2013}1111\u{2013}1111», «4111\u{2011}1111\u{2011}1111\u{2011}1111»",
        "«４１１１ １１１１ １１１１ １１１１», «4111\u{200b}111111111111»",
    ] {
        check(ScrubFamily::Card, text);
    }
    check(ScrubFamily::Iban, "«DE89\u{a0}3704\u{a0}0044\u{a0}0532\u{a0}0130\u{a0}00»");
    check(ScrubFamily::IpAddress, "«２０３.0.113.7»");
    kept(&[
        "4111.1111.1111.1112",
        "1.4111.1111.1111.1111",
        "4111.1111.1111.1111.2",
        "100%20 of 200",
    ]);
}

#[test]
fn emails_that_are_encoded_and_repositories() {
    for text in [
        "?to=«ada%40example.com»&x=1",
        "«ada%2Bnews%2540example%2Ecom»",
        "«ada\u{200b}.quill@example\u{2060}.com»",
        "«ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ»",
        "«ada@example.com»: hello, «ada@example.com»:22",
        "git fetch, then mail «git@example.com»: it works",
    ] {
        check(ScrubFamily::Email, text);
    }
    kept(&[
        "git clone git@github.com:owner/name.git",
        "git@github.com",
        "ssh://git@git.example.com/owner/name.git",
        "git@git.example.com:owner/name",
        "git%40github.com%3Aowner",
    ]);
}

#[test]
fn schemes() {
    check(ScrubFamily::Bearer, "«BEARER abcdefghij0123», «BeArEr\u{a0}abcdefghij0123»");
    for text in [
        "Authorization: Basic «dXNlcjpwYXNz»",
        "AUTHORIZATION: BASIC «dXNlcjpwYXNzd29yZA==»",
        "curl -H \"authorization: token «abcdefgh12»\"",
        "Token «9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b»",
        "use basic «YWRhOmNvcnJlY3Rob3JzZQ==» for it",
        "Proxy-Authorization: Digest «dXNlcjpwYXNz1»",
    ] {
        check(ScrubFamily::Secret, text);
    }
    kept(&[
        "the bearer authentication scheme",
        "Bearer Authentication, bearer certificates, BEARER CREDENTIALS",
        "basic authentication, Basic understanding of things, basic YWRh",
        "token authentication, token bucket, Token internationalization",
        "Authorization: Basic authentication is off",
        "the authorization of payments",
    ]);
}

/// One behind another without a blank, however many there are.
#[test]
fn glued_phones() {
    let text = "+44 7700 900123".repeat(40);
    assert_eq!(scrub(&text), MARKER.repeat(40));
}

#[test]
fn phones_within_a_country() {
    for text in [
        "«0490 75 40 81»",
        "«03.93.92.16.85»",
        "«(07) 5331 0577»",
        "call me at «467 3395»",
        "«781 1704» office",
        "«079 0442 1744» x12".replace(" x12", "").as_str(),
    ] {
        check(ScrubFamily::PhoneNational, text);
    }
    kept(&[
        "467 3395",
        "02139-4307",
        "01.02.2003 10:30",
        "01-02-2003",
        "0-306-40615-2",
        "051.507400",
        "call 2019-2020",
        "called 1 234 567 times",
    ]);
}

#[test]
fn social_security_numbers() {
    check(ScrubFamily::Ssn, "SSN «123-45-6789», «078-05-1120»");
    kept(&["2270-66-1551", "123-456-789", "123-45-67890", "a123-45-6789"]);
}

#[test]
fn cards() {
    for text in [
        "«4111111111111111» «4111 1111 1111 1111» «4111-1111-1111-1111»"
            .replace("» «", "», «")
            .as_str(),
        "«378282246310005», «3782 822463 10005»",
        "«4222222222222», «4131034282458809939»",
        "card «4111 1111 1111 1111» 12/25",
        "«4111-1111-1111-1111» 123",
    ] {
        check(ScrubFamily::Card, text);
    }
    check(ScrubFamily::CardMaestro, "«630427373398»");
    kept(&[
        "4111111111111112",
        "37.4111111111111111",
        "x4111111111111111",
        "446655440000",
        "0".repeat(20).as_str(),
    ]);
}

#[test]
fn tokens_and_keys() {
    check(ScrubFamily::Jwt, "«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4»");
    check(ScrubFamily::Bearer, "«Bearer abcdefghij0123», \"«bearer abc.def/ghi+x==»\"");
    kept(&["eyJhbGciOiJIUzI1NiJ9", "eyJ.eyJ.eyJ", "bearer short", "forbearer abcdefghijkl"]);
    for text in [
        "«AKIAIOSFODNN7EXAMPLE»",
        "export GH=«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»",
        "«xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx»",
        "«sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789»",
        "«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»",
        "«110201543:AAHdqTcvCH1vGWJxfSe1ofSAs0K5PALDsaw»",
        "«343ea45721923ed956e2b38c31db76aa-us30»",
    ] {
        check(ScrubFamily::ApiKey, text);
    }
}

#[test]
fn assigned_secrets() {
    for text in [
        "password=«hunter2hunter2»",
        "\"api_key\": \"«a1b2c3d4e5»\"",
        "DB_PASSWORD: '«s3cr3t-value»'",
        "client-secret := «abc12345»",
        "password=«hunter» and password=«correcthorse»",
        "?user=ada&password=«swordfish»&x=1",
        "\"password\": \"«swordfish»\"",
        "PWD='«pass!word-less»'".replace("pass!word", "swor!dfish").as_str(),
        "password%3D«swordfish»",
        "password\u{200b}=«hünterin»",
    ] {
        check(ScrubFamily::Secret, text);
    }
    kept(&[
        "password: the usual one",
        "password=$DB_PASSWORD1",
        "api_key=\"%s\" % KEY1",
        "api_key = \"insert_key_here\"",
        "what is a token: 12345678",
        "password = os.environ[0]",
        "password=os.environ[\"X\"], password=getpass(), password=config.db.password",
        "password=required, password=xxxxxxxx, password=your_password_here, password=",
        "the password is swordfish",
    ]);
}

#[test]
fn passwords_as_people_write_them() {
    for text in [
        "Password: «swordfish»",
        "password : «swordfish»",
        "user: ada, password: «swordfish», host: db",
        "password='«correct horse»'",
        "passphrase: \"«correct horse battery staple»\"",
        "mysql --password «swordfish» -u ada",
        "tool --db-password '«correct horse»'",
    ] {
        check(ScrubFamily::Secret, text);
    }
    kept(&[
        "password: the usual one",
        "Password: required",
        "password: 'must be at least of eight'",
        "the --password option, --password is read, pass --password instead",
        "how do I use --password in a script?",
        "Passwords: storage and rotation",
        "the secret: practice",
    ]);
}

#[test]
fn schemes_as_people_write_them() {
    check(ScrubFamily::Bearer, "«Bearer: abcdefghijk1234567»");
    check(ScrubFamily::Secret, "Basic «YWRhOnB3»");
    kept(&["bearer: authentication", "Basic training", "basic question"]);
}

#[test]
fn numbers_of_people_in_any_company() {
    check(ScrubFamily::Ssn, "ticket «123-45-6789», order «123-45-6789», invoice «123-45-6789»");
    check(ScrubFamily::Phone, "call «415 555 0132» rows of seats");
    check(ScrubFamily::Card, "«4111/1111/1111/1111», «4111_1111_1111_1111»");
    kept(&[
        "build 1.123.456.7890",
        "v415.555.0132",
        "SKU 123-45-6789, ORD-123-45-6789, 123-45-6789-XL",
        "logs/4111/1111/1111/1111/2",
        "4111/1111/1111/1112",
        "inserted 415 555 0132 rows",
    ]);
}

#[test]
fn private_keys_and_connection_strings() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234\nabc=\n-----END RSA PRIVATE KEY-----";
    check(ScrubFamily::PrivateKey, &format!("key: «{key}» end"));
    check(ScrubFamily::PrivateKey, "«-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234» and so on");
    kept(&[
        "what does -----BEGIN RSA PRIVATE KEY----- mean?",
        "-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA1234\n-----END CERTIFICATE-----",
    ]);
    for text in [
        "«postgres://user:pass@db.example.com:5432»/app",
        "«mongodb+srv://u:p@ss@cluster0.mongodb.net»/test?x=1",
        "«redis://:secret@10.0.0.1:6379»",
        "\"«https://user:pass@example.com»/x\"",
    ] {
        check(ScrubFamily::ConnectionString, text);
    }
    kept(&[
        "https://example.com:8080/@x",
        "postgres://$USER:$PASS@host",
        "\"https://url:8000\";@x",
    ]);
}

#[test]
fn bank_accounts_and_addresses() {
    check(
        ScrubFamily::Iban,
        "«DE89370400440532013000», «GB82 WEST 1234 5698 7654 32», «gb82west12345698765432»",
    );
    kept(&["DE89370400440532013001", "XX89370400440532013000", "GB82 WEST 1234"]);
    check(ScrubFamily::IpAddress, "from «203.0.113.7», «192.168.1.10»:80 and «10.0.0.1»/8.");
    check(ScrubFamily::IpAddress, "«2001:db8::1», [«fe80::1ff:fe23:4567:890a»].");
    kept(&[
        "10.0.1",
        "v1.2.3.4",
        "version 1.2.3.4",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.04",
        "127.0.0.1:8080",
        "12:30:45",
        "std::vec::Vec",
        "00:1a:2b:3c:4d:5e",
        "a::b",
    ]);
}

#[test]
fn things_that_only_look_like_it() {
    kept(&[
        "on 2024-01-15 at 12:30:45, 15.01.2024, 1/15/2024, 2024-01-15T12:30:45.123Z",
        "order 10023456, invoice INV-2024-00123, ticket ABC-1234, PR #4567",
        "v1.2.3, 10.0.1-rc.2, rust 1.95.0, python 3.12.4",
        "commit 8390c29 and 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "550e8400-e29b-41d4-a716-446655440000",
        "at 37.7749, -122.4194 or 51.507351 -0.127758",
        "ISBN 978-3-16-148410-1, 0-306-40615-2",
        "$1,234,567.89, 3.141592653589, 1 000 000, 12,345,678 people",
        "3 x 4 = 12, 1-2-3-4-5-6-7-8-9, 1 2 3 4 5 6 7 8 9 10 11 12 13",
        "who founded Acme in 2019? what did Ada say about the 2020-2021 budget?",
        "chapter 4.2.1, room 404-12, flight LH 1234, bus 100 200 300",
    ]);
}

#[test]
fn wider_families_leave_nothing_behind() {
    assert_eq!(scrub("postgres://u:p!w@db.example.com/x"), format!("{MARKER}/x"));
    assert_eq!(scrub("müller@example.com"), MARKER);
    assert_eq!(scrub("+49 30 123 456 7890"), MARKER);
    assert_eq!(scrub("[REDACTED]a@b.co, 415-555-0132"), format!("{MARKER}{MARKER}, {MARKER}"));
}

#[test]
fn patterns_of_the_user() {
    let scrubber = Scrubber::new(&[r"EMP-\d+".to_owned(), "x*".to_owned()]).unwrap();
    let scrubbed = scrubber.scrub("ask EMP-12 or a@b.co");
    assert_eq!(scrubbed.text, format!("ask {MARKER} or {MARKER}"));
    assert_eq!(scrubbed.found[0].family, ScrubFamily::Custom);
    let greedy = Scrubber::new(&["[A-Z]+".to_owned()]).unwrap();
    let once = greedy.scrub("a B c").text;
    assert_eq!(
        (once.as_str(), greedy.scrub(&once).text.as_str()),
        ("a [REDACTED] c", once.as_str())
    );
    let error = Scrubber::new(&["(".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "the scrubbing pattern \"(\" is not a regular expression");
    let ScrubError::Pattern { pattern, .. } = error;
    assert_eq!(pattern, "(");
}

#[test]
fn slugs() {
    let scrubber = Scrubber::default();
    for (slug, expected) in [
        ("people/ada@example.com", "people/[REDACTED]"),
        ("people/ada-at-example-com", "people/[REDACTED]"),
        ("people/müller@example.com", "people/[REDACTED]"),
        ("contacts/415-555-0132", "contacts/[REDACTED]"),
        ("contacts/+44-7700-900123-x", "contacts/[REDACTED]-x"),
        ("people/ada-quill", "people/ada-quill"),
        ("meetings/2026-05-02-look-at-plans", "meetings/2026-05-02-look-at-plans"),
        ("servers/10.0.0.1", "servers/10.0.0.1"),
        ("people/ada.b-lovelace-at-mail.example.co-uk", "people/[REDACTED]"),
        // Ordinary slugs: a sentence is no address, a number that can't be dialled is no phone.
        ("docs/what-is-at-stake-in-the-eu", "docs/what-is-at-stake-in-the-eu"),
        ("notes/how-to-look-at-logs-in-io", "notes/how-to-look-at-logs-in-io"),
        ("notes/one-two-three-four-at-example-com", "notes/one-two-three-four-at-example-com"),
        ("tickets/123-456-7890", "tickets/123-456-7890"),
        ("builds/100-200-3000", "builds/100-200-3000"),
        ("builds/415-155-0132", "builds/415-155-0132"),
        ("alerts/911-555-0132", "alerts/911-555-0132"),
        ("invoices/0049-2024-000123", "invoices/0049-2024-000123"),
    ] {
        assert_eq!(scrubber.scrub_slug(slug), expected, "{slug}");
    }
}

#[test]
fn names_are_read_back_and_patterns_compile() {
    for family in ScrubFamily::ALL {
        assert_eq!(ScrubFamily::from_name(family.name()), Some(*family));
        if let Some(pattern) = pattern(*family) {
            assert!(Scrubber::new(&[pattern.to_owned()]).is_ok(), "{family}");
        }
    }
}

/// Texts made of the pieces that decide, so that matches touch and overlap.
fn dense() -> impl Strategy<Value = String> {
    let pieces = [
        "1",
        "12",
        "123",
        "1234",
        "4111111111111111",
        "555-123-4567",
        "+",
        "+1",
        "00",
        "(",
        ")",
        "-",
        ".",
        " ",
        ":",
        "/",
        "@",
        "a",
        "b.co",
        "a@b.co",
        "ü",
        "中",
        "x",
        "eyJ",
        "abcdefgh",
        "Bearer ",
        "password=",
        "\"",
        "://",
        "postgres://u:p@h",
        "[REDACTED]",
        "[",
        "]",
        "AKIA",
        "ABCDEFGHIJKLMNOP",
        "sk-",
        "ghp_",
        "GB82WEST12345698765432",
        "GB82",
        "10.0.0.1",
        "2001:db8::1",
        "::",
        "123-45-6789",
        "-----BEGIN PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA",
        "-----END PRIVATE KEY-----",
        "\n",
        "0490 ",
        "75 40 81",
        "call ",
        " ext. ",
        "AC",
        "0123456789abcdef",
        "_",
        "=",
        "-us12",
        ",",
        "\\",
        "\u{a0}",
        "\u{2011}",
        "\u{200b}",
        "４",
        "１１１１",
        "%40",
        "%2",
        "%25",
        "  ",
        "Basic ",
        "YTpi",
        "TOKEN ",
        "authorization: ",
        "SKU ",
        " rows",
        "git@",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..24).prop_map(|p| p.concat())
}

#[test]
fn chains_of_numbers_are_found_at_once() {
    let bearers = "555-123-4567Bearer +1sk-Bearer abcdefghij0123";
    assert_eq!(scrub(&scrub(bearers)), scrub(bearers));
    for piece in ["+44 7700 900123", "(415) 555-0132", "0490 75 40 81 ", "(07) 5331 0577", "a@b.co"]
    {
        let text = piece.repeat(40);
        let once = scrub(&text);
        assert_eq!(scrub(&once), once, "{piece}");
    }
}

fn holds(text: &str) -> Result<(), TestCaseError> {
    let scrubber = Scrubber::default();
    let scrubbed = scrubber.scrub(text);
    for pair in scrubbed.found.windows(2) {
        prop_assert!(pair[0].end <= pair[1].start, "{:?}", pair);
    }
    for found in &scrubbed.found {
        prop_assert!(found.start < found.end && text.get(found.start..found.end).is_some());
    }
    let markers = |text: &str| text.matches(MARKER).count();
    prop_assert_eq!(markers(&scrubbed.text), markers(text) + scrubbed.found.len());
    let again = scrubber.scrub(&scrubbed.text);
    prop_assert_eq!(&again.text, &scrubbed.text, "again {:?}", again.found);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn scrubbing_twice_is_scrubbing_once(text in dense()) {
        holds(&text)?;
    }

    #[test]
    fn any_text_holds(text in any::<String>()) {
        holds(&text)?;
    }
}
