"""states/parallel.py."""
from .support import Probe, jsonata, output, run


def branch(states):
    return {"StartAt": next(iter(states)), "States": states}


class Parallel(Probe):
    def test_arguments_output_and_assign(self):
        states = {
            "Both": {"Type": "Parallel", "Arguments": {"n": "{% $states.input.a + 1 %}"},
                     "Branches": [branch({"Echo": {"Type": "Pass", "End": True}})],
                     "Assign": {"seen": "{% $states.result[0].n %}"},
                     "Output": "{% $states.result[0].n * 10 %}", "Next": "Last"},
            "Last": {"Type": "Pass", "Output": "{% [$states.input, $seen] %}", "End": True}}
        self.assertEqual([20, 2], output(run(jsonata(states), {"a": 1})))

    def test_failing_branch_stops_its_siblings(self):
        branches = [
            branch({"Wait": {"Type": "Wait", "Seconds": 8, "End": True}}),
            branch({"Fail": {"Type": "Fail", "Error": "Probe.Branch", "Cause": ""}})]
        caught = {"ErrorEquals": ["Probe.Branch"], "Output": "caught", "Next": "End"}
        states = {"Both": {"Type": "Parallel", "Branches": branches, "Catch": [caught], "Next": "End"},
                  "End": {"Type": "Succeed"}}
        self.assertEqual("caught", output(run(jsonata(states), seconds=4)))

    def test_branches_have_variables_of_their_own(self):
        def assigning(value):
            return branch({
                "Set": {"Type": "Pass", "Assign": {"mine": value}, "Next": "Wait"},
                "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Get"},
                "Get": {"Type": "Pass", "Output": "{% [$mine, $outer] %}", "End": True}})
        states = {
            "First": {"Type": "Pass", "Assign": {"outer": 7, "mine": 0}, "Next": "Both"},
            "Both": {"Type": "Parallel", "Branches": [assigning(1), assigning(2)],
                     "Output": {"branches": "{% $states.result %}", "outer": "{% $mine %}"}, "End": True}}
        self.assertEqual({"branches": [[1, 7], [2, 7]], "outer": 0}, output(run(jsonata(states))))
