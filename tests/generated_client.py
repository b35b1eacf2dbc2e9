"""Uses the client that serve_client_test.py has generated, in an environment that has it: generated_client.py ADDRESS.
Prints what it was told."""

import json
import sys
import time

from ampere_client import Client
from ampere_client.api.default import get_jobs_id, get_status, post_estimate, post_jobs
from ampere_client.models import Estimate, Estimates, Job, PostEstimateBody, PostJobsBody, Problem, Status

client = Client(base_url=sys.argv[1])
network = {"zoo": "lenet5"}

status = get_status.sync(client=client)
assert isinstance(status, Status), status
asked = PostEstimateBody.from_dict({"network": network, "batch": 10, "samples": 60000})
estimates = post_estimate.sync(client=client, body=asked)
assert isinstance(estimates, Estimates), estimates
estimate = estimates.estimates[0]
assert isinstance(estimate, Estimate), estimate
refused = post_estimate.sync(client=client, body=PostEstimateBody.from_dict({"network": {"zoo": "nothing"}}))
assert isinstance(refused, Problem), refused
job = post_jobs.sync(client=client, body=PostJobsBody.from_dict({"kind": "profile", "network": network, "batch": 10, "exact": True}))
assert isinstance(job, Job), job
while job.state in ("waiting", "running"):
    time.sleep(0.1)
    job = get_jobs_id.sync(client=client, id=job.id)
    assert isinstance(job, Job), job
print(json.dumps({"version": status.version, "energy_j": estimate.job.energy_j, "layers": [layer.name for layer in estimate.layers],
                  "refused": refused.kind, "state": str(job.state)}))
