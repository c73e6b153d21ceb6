//! The console: pages in a real browser, and requests that a browser would never send.

mod browser;
mod hostile;
mod sessions;
mod site;
