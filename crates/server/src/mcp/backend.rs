//! The operations behind the tools: the same that the HTTP API calls.

use gbrain_core::fault::Fault;
use gbrain_core::request::Caller;
use jiff::Timestamp;
use serde_json::Value;

use super::operation::{
    Backend, DeletePage, GetPage, Links, ListPages, Operation, PageFormat, PutPage,
};
use crate::house::House;
use crate::http::{Call, NoParameters, Origin, Reply};
use crate::operations::{ask, pages, sources, status};
use crate::visitor::Visitor;

impl Backend for House {
    fn call(&self, who: &Visitor, caller: Caller, operation: Operation) -> Result<Value, Fault> {
        let call =
            &Call { house: self, who, now: Timestamp::now(), caller, origin: Origin::default() };
        let none = NoParameters {};
        let reply = match operation {
            Operation::Search(body) => ask::search(call, none, body),
            Operation::Query(body) => ask::query(call, none, body),
            Operation::GetPage(GetPage { page, version }) => {
                pages::get(call, pages::GetPage { page, version })
            }
            Operation::PutPage(PutPage { page, content, format }) => {
                let text = pages::PageText { content, format: Some(format.into()) };
                pages::put(call, pages::PageName { page }, text)
            }
            Operation::DeletePage(DeletePage { page }) => {
                pages::delete(call, pages::PageName { page })
            }
            Operation::ListPages(ListPages { source, page_type, tag, prefix, after, limit }) => {
                let limit = Some(limit);
                let list = pages::ListPages {
                    source,
                    page_type,
                    tag,
                    prefix,
                    deleted: None,
                    after,
                    limit,
                };
                pages::list(call, list)
            }
            Operation::Links(Links { page }) => pages::links(call, pages::PageName { page }),
            Operation::Sources => sources::list(call, none),
            Operation::EvalStatus => status::status(call, none),
        };
        document(reply?)
    }
}

fn document(reply: Reply) -> Result<Value, Fault> {
    let (Reply::Json(bytes) | Reply::Accepted(bytes)) = reply else {
        return Err(Fault::internal("a tool answers with one document"));
    };
    serde_json::from_slice(&bytes).map_err(|error| Fault::internal(error.to_string()))
}

impl From<PageFormat> for pages::TextFormat {
    fn from(format: PageFormat) -> Self {
        match format {
            PageFormat::Markdown => Self::Markdown,
            PageFormat::Text => Self::Text,
            PageFormat::ChatJson => Self::ChatJson,
            PageFormat::ChatJsonl => Self::ChatJsonl,
        }
    }
}
