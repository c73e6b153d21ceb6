//! The schemas of both databases.

use std::fmt::Write as _;

use super::snapshot;
use crate::support::Home;

#[test]
fn schema_of_sqlite() {
    let home = Home::sqlite();
    home.ok(&["init"]);
    let db = rusqlite::Connection::open(home.path().join("brain.db")).unwrap();
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let mut text = format!("PRAGMA user_version = {version};\n");
    let sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name";
    let mut statement = db.prepare(sql).unwrap();
    for sql in statement.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        writeln!(text, "\n{};", sql.unwrap()).unwrap();
    }
    snapshot::check("store/schema-sqlite.sql", &text);
}

/// A query to PostgreSQL; each row is one text.
const QUERIES: [(&str, &str); 7] = [
    (
        "columns",
        "SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type,
             CASE is_nullable WHEN 'NO' THEN 'NOT NULL' END, 'DEFAULT ' || column_default)
         FROM information_schema.columns WHERE table_schema = 'public'
         ORDER BY table_name, ordinal_position",
    ),
    (
        "constraints",
        "SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
         FROM pg_constraint
         WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
         ORDER BY conrelid::regclass::text, conname",
    ),
    ("indexes", "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname"),
    (
        "row security",
        "SELECT concat_ws(' ', relname, CASE WHEN relforcerowsecurity THEN 'forced' END)
         FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relrowsecurity
         ORDER BY relname",
    ),
    (
        "policies",
        "SELECT concat_ws(' ', tablename, policyname, permissive, array_to_string(roles, ','), cmd,
             'USING', qual, 'WITH CHECK', with_check)
         FROM pg_policies WHERE schemaname = 'public' ORDER BY tablename, policyname",
    ),
    (
        "views",
        "SELECT viewname || E'\\n' || definition FROM pg_views WHERE schemaname = 'public'
         ORDER BY viewname",
    ),
    (
        "functions and triggers",
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
         UNION ALL
         SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
         ORDER BY 1",
    ),
];

#[test]
fn schema_of_postgres() {
    let home = Home::postgres();
    let mut client = postgres::Client::connect(home.url(), postgres::NoTls).unwrap();
    let mut text = String::new();
    for (title, sql) in QUERIES {
        writeln!(text, "# {title}\n").unwrap();
        for row in client.query(sql, &[]).unwrap() {
            writeln!(text, "{}", row.get::<_, String>(0)).unwrap();
        }
        text.push('\n');
    }
    snapshot::check("store/schema-postgres.txt", &text);
}

/// Both databases have the same tables with the same columns.
#[test]
fn tables_and_columns_are_the_same_on_both() {
    let home = Home::sqlite();
    home.ok(&["init"]);
    let db = rusqlite::Connection::open(home.path().join("brain.db")).unwrap();
    let sql = "SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%'";
    let mut statement = db.prepare(sql).unwrap();
    let columns = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut sqlite: Vec<String> = columns.map(Result::unwrap).collect();
    let home = Home::postgres();
    let mut client = postgres::Client::connect(home.url(), postgres::NoTls).unwrap();
    let sql = "SELECT table_name || '.' || column_name FROM information_schema.columns
        WHERE table_schema = 'public'";
    let rows = client.query(sql, &[]).unwrap();
    let mut postgres: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    sqlite.sort();
    postgres.sort();
    snapshot::check("store/columns.txt", &(sqlite.join("\n") + "\n"));
    let only = |these: &[String], those: &[String]| {
        let missing = these.iter().filter(|one| !those.contains(one)).cloned();
        missing.collect::<Vec<_>>().join("\n")
    };
    let differences = format!(
        "only on SQLite:\n{}\n\nonly on PostgreSQL:\n{}\n",
        only(&sqlite, &postgres),
        only(&postgres, &sqlite)
    );
    snapshot::check("store/columns-differences.txt", &differences);
}
