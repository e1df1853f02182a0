//! The example templates, deployed as a user does it.

use super::Fleet;
use std::collections::HashMap;

impl Fleet {
    /// `sam deploy` of `infra/examples/TEMPLATE`. Returns the outputs of the stack.
    pub(super) async fn deploy(
        &self,
        template: &str,
        name: &str,
        parameters: &[(&str, &str)],
    ) -> HashMap<String, String> {
        self.stack()
            .deploy_example(template, name, parameters)
            .await
    }
}
