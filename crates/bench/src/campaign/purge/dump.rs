//! Every row of every table, and every file of the home that is no index and no database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Map, Value};

use gbrain_testkit::process::Gbrain;

/// A row by the names of its columns.
pub(super) type Row = Map<String, Value>;

/// The content of a brain at one time.
pub(super) struct Dump {
    /// The rows of each table, in the order of their texts.
    pub(super) tables: BTreeMap<String, Vec<Row>>,
    /// The bytes of each file.
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    /// The bytes of the index and of the SQLite database.
    pub(super) opaque: Vec<(PathBuf, Vec<u8>)>,
}

impl Dump {
    pub(super) fn read(home: &Gbrain) -> Result<Self> {
        let mut tables = match home.database_url() {
            Some(url) => postgres_rows(url)?,
            None => sqlite_rows(&home.home().join("brain.db"))?,
        };
        tables
            .values_mut()
            .for_each(|rows| rows.sort_by_key(|row| Value::from(row.clone()).to_string()));
        let (mut files, mut opaque) = (BTreeMap::new(), Vec::new());
        for entry in walkdir::WalkDir::new(home.home()) {
            let entry = entry?;
            if !entry.file_type().is_file() {
                continue;
            }
            let path = entry.path().strip_prefix(home.home())?.to_owned();
            let bytes = std::fs::read(entry.path())?;
            let is_opaque =
                path.starts_with("index") || path.to_string_lossy().starts_with("brain.db");
            match is_opaque {
                true => opaque.push((path, bytes)),
                false => drop(files.insert(path, bytes)),
            }
        }
        Ok(Self { tables, files, opaque })
    }
}

fn sqlite_rows(path: &Path) -> Result<BTreeMap<String, Vec<Row>>> {
    let database = rusqlite::Connection::open(path)?;
    let mut names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut tables = BTreeMap::new();
    for name in names {
        let mut statement = database.prepare(&format!("SELECT * FROM \"{name}\""))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let rows = statement.query_map([], |row| {
            let column = |(at, name): (usize, &String)| Ok((name.clone(), cell(row.get_ref(at)?)));
            columns.iter().enumerate().map(column).collect::<rusqlite::Result<Row>>()
        })?;
        let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
        tables.insert(name, rows);
    }
    Ok(tables)
}

fn cell(value: rusqlite::types::ValueRef<'_>) -> Value {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => format!("{bytes:02x?}").into(),
    }
}

fn postgres_rows(url: &str) -> Result<BTreeMap<String, Vec<Row>>> {
    let mut client = postgres::Client::connect(url, postgres::NoTls)?;
    let names =
        client.query("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'", &[])?;
    let mut tables = BTreeMap::new();
    for name in names.iter().map(|row| row.get::<_, String>(0)) {
        let rows = client.query(&format!("SELECT row_to_json(t)::text FROM \"{name}\" t"), &[])?;
        let rows = rows.iter().map(|row| serde_json::from_str(&row.get::<_, String>(0)));
        tables.insert(name, rows.collect::<Result<Vec<Row>, _>>()?);
    }
    Ok(tables)
}
