"""dynamodb.py, and the roles of functions that use tables."""
import json

from .functions import calls_as, role_that_may
from .support import Probe, client, jsonata, output, run, through_emulator, unique, wait_for

TABLES = "arn:aws:dynamodb:us-east-1:000000000000:table"


class Dynamodb(Probe):
    KEYS = {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}

    def table_there(self, name):
        return name in client("dynamodb").list_tables()["TableNames"]

    def test_emulator_hands_requests_on(self):
        name = unique()
        through_emulator("dynamodb").create_table(TableName=name, **self.KEYS)
        self.assertTrue(self.table_there(name))

    def test_wrong_element_is_not_removed(self):
        """The emulator's own DynamoDB removes q[0] first, and then takes q[1] from the rest."""
        name, api = unique(), through_emulator("dynamodb")
        api.create_table(TableName=name, **self.KEYS)
        api.put_item(TableName=name, Item={"pk": {"S": "a"}, "q": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]}})
        api.update_item(TableName=name, Key={"pk": {"S": "a"}}, UpdateExpression="REMOVE q[0], q[1]")
        self.assertEqual([{"N": "2"}], api.get_item(TableName=name, Key={"pk": {"S": "a"}})["Item"]["q"]["L"])

    def test_template_makes_and_deletes_the_table(self):
        name, api = unique(), client("cloudformation")
        api.create_stack(StackName=name, TemplateBody=self.template(
            TableName=name, **self.KEYS, TimeToLiveSpecification={"AttributeName": "ttl", "Enabled": True}))
        self.wait_for_stack(name, "CREATE_COMPLETE")
        self.assertTrue(self.table_there(name))
        resources = api.describe_stack_resources(PhysicalResourceId=name)["StackResources"]
        self.assertEqual([(name, "AWS::DynamoDB::Table")], [(one["StackName"], one["ResourceType"]) for one in resources])
        with self.assertRaisesRegex(Exception, "ValidationError"):
            api.describe_stack_resources(PhysicalResourceId=unique())
        ttl = client("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        self.assertEqual(("ENABLED", "ttl"), (ttl["TimeToLiveStatus"], ttl["AttributeName"]))
        api.delete_stack(StackName=name)
        wait_for(lambda: not self.table_there(name), "deletion of the table")

    def test_stack_can_be_made_again_beside_a_table_that_it_has_left(self):
        name, api, tables = unique(), client("cloudformation"), []
        template = json.dumps({"Resources": {"Table": {
            "Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "Properties": self.KEYS}}})
        for _ in range(2):
            api.create_stack(StackName=name, TemplateBody=template)
            self.wait_for_stack(name, "CREATE_COMPLETE")
            [table] = api.describe_stack_resources(StackName=name)["StackResources"]
            tables.append(table["PhysicalResourceId"])
            api.delete_stack(StackName=name)
            api.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
        self.assertEqual(2, len(set(tables)), tables)
        self.assertEqual([True, True], [self.table_there(table) for table in tables])

    def test_template_makes_and_changes_an_index(self):
        name, api = unique(), client("cloudformation")
        attributes = [{"AttributeName": key, "AttributeType": kind} for key, kind in (("pk", "S"), ("at", "N"))]
        index = {"IndexName": "due", "Projection": {"ProjectionType": "KEYS_ONLY"}, "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]}
        indexed = {**self.KEYS, "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": [index]}
        api.create_stack(StackName=name, TemplateBody=self.template(TableName=name, **indexed))
        self.wait_for_stack(name, "CREATE_COMPLETE")
        described = client("dynamodb").describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"]
        self.assertEqual([("due", "KEYS_ONLY")],
                         [(one["IndexName"], one["Projection"]["ProjectionType"]) for one in described])
        api.update_stack(StackName=name, TemplateBody=self.template(TableName=name, **self.KEYS))
        self.wait_for_stack(name, "UPDATE_COMPLETE")
        wait_for(lambda: not client("dynamodb").describe_table(TableName=name)["Table"].get("GlobalSecondaryIndexes"),
                 "deletion of the index")

    def template(self, **properties):
        return json.dumps({"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": properties}}})

    def wait_for_stack(self, name, status):
        api = client("cloudformation")
        wait_for(lambda: api.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == status,
                 f"{status} of {name}")

    def test_state_reads_dynamodb_local(self):
        name, api = unique(), client("dynamodb")
        api.create_table(TableName=name, **self.KEYS)
        api.put_item(TableName=name, Item={"pk": {"S": "a"}, "n": {"N": "5"}})
        state = {"Type": "Task", "Resource": "arn:aws:states:::dynamodb:getItem", "End": True,
                 "Arguments": {"TableName": name, "Key": {"pk": {"S": "a"}}}, "Output": "{% $states.result.Item.n.N %}"}
        self.assertEqual("5", output(run(jsonata({"Get": state}))))


class TableRoles(Probe):
    """AWS: an index is a resource of its own, and TransactWriteItems is authorised by the single operations.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/using-identity-based-policies.html
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html"""
    corrected = False
    DENIED = "AccessDeniedException"

    def table(self):
        name = unique()
        client("dynamodb").create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("pk", "shard")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            GlobalSecondaryIndexes=[{"IndexName": "due", "Projection": {"ProjectionType": "KEYS_ONLY"},
                                     "KeySchema": [{"AttributeName": "shard", "KeyType": "HASH"}]}])
        return name

    def query(self, table, key, **more):
        return ["dynamodb", "query", {"TableName": table, "KeyConditionExpression": "#k = :v",
                                      "ExpressionAttributeNames": {"#k": key},
                                      "ExpressionAttributeValues": {":v": {"S": "a"}}, **more}]

    def test_index_is_a_resource_of_its_own(self):
        table = self.table()
        calls = [self.query(table, "shard", IndexName="due"), self.query(table, "pk")]
        for resource, expected in ((f"{TABLES}/{table}/index/due", ["allowed", self.DENIED]),
                                   (f"{TABLES}/{table}", [self.DENIED, "allowed"])):
            self.assertEqual(expected, calls_as(role_that_may((["dynamodb:Query"], resource)), calls), resource)

    def test_single_operations_authorise_a_transaction(self):
        table = self.table()
        key = {"TableName": table, "Key": {"pk": {"S": "a"}}}
        check = {"ConditionCheck": {**key, "ConditionExpression": "attribute_not_exists(pk)"}}
        other = {"Delete": {**key, "Key": {"pk": {"S": "b"}}}}
        calls = [["dynamodb", "delete_item", key],
                 ["dynamodb", "transact_write_items", {"TransactItems": [other]}],
                 ["dynamodb", "transact_write_items", {"TransactItems": [check, other]}]]
        all_of = f"{TABLES}/{table}"
        for actions, expected in ((["dynamodb:DeleteItem"], ["allowed", "allowed", self.DENIED]),
                                  (["dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"], ["allowed"] * 3),
                                  (["dynamodb:TransactWriteItems"], [self.DENIED] * 3)):
            self.assertEqual(expected, calls_as(role_that_may((actions, all_of)), calls), actions)

    def test_leading_keys_are_the_condition(self):
        """A Deny by partition key, as in the policies of tasks, limits a role to its own locks.
        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html"""
        table, actions = self.table(), ["dynamodb:GetItem", "dynamodb:DeleteItem"]
        role = role_that_may((actions, f"{TABLES}/{table}"))
        others = {"ForAnyValue:StringNotLike": {"dynamodb:LeadingKeys": "orders/*"}}
        client("iam").put_role_policy(
            RoleName=role.rpartition("/")[2], PolicyName="own-locks-only", PolicyDocument=json.dumps({
                "Version": "2012-10-17", "Statement": [{
                    "Effect": "Deny", "Action": actions, "Resource": f"{TABLES}/{table}", "Condition": others}]}))
        own, other = ({"TableName": table, "Key": {"pk": {"S": key}}} for key in ("orders/00", "invoices"))
        calls = [["dynamodb", "get_item", own], ["dynamodb", "get_item", other],
                 ["dynamodb", "transact_write_items", {"TransactItems": [{"Delete": own}]}],
                 ["dynamodb", "transact_write_items", {"TransactItems": [{"Delete": own}, {"Delete": other}]}]]
        self.assertEqual(["allowed", self.DENIED] * 2, calls_as(role, calls))
