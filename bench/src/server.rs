//! An embedded DynamoDB in a process of its own.

use std::io::Read;

use simulator::dynamodb::EmbeddedDynamo;

use crate::Error;

pub(crate) fn serve() -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let dynamo = runtime.block_on(EmbeddedDynamo::start())?;
    println!("{}", dynamo.address);
    // Until the parent goes away.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
