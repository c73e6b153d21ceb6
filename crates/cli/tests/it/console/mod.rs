//! Pages of the console, as a browser without JavaScript asks for them.

mod captures;
mod labels;
mod reader;
