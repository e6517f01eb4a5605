//! An embedded DynamoDB in a separate process.

use std::io::Read;

use simulator::dynamodb::EmbeddedDynamo;

use crate::Error;

pub(crate) fn serve() -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let dynamo = runtime.block_on(EmbeddedDynamo::start())?;
    println!("{}", dynamo.address);
    // The parent closes standard input when it ends.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
