//! Reading and writing files, whatever is in them.

mod files;
