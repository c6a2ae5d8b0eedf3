"""The guides to SLURM, Kubernetes and buckets: blocks that parse, names that agree, and what they show run here."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from faulty_store import moto_server

import gridplan
from gridplan.errors import RefusedError
from gridplan.store.verify import verify_cube

ROOT = Path(__file__).parents[2]
GRID = ROOT / "grids" / "quickstart.yaml"
PAGES = ("cluster.md", "cluster-slurm.md", "cluster-kubernetes.md", "cluster-buckets.md")


def blocks(page: str, kind: str) -> list[str]:
    """The fenced blocks of one kind, in order."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.S | re.M)


def manifests() -> dict[str, Any]:
    """What Kubernetes is given, by kind."""
    return {found["kind"]: found for found in map(yaml.safe_load, blocks("cluster-kubernetes.md", "yaml"))}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_its_language(page: str) -> None:
    for text in blocks(page, "json"):
        json.loads(text)
    for text in blocks(page, "yaml"):
        assert isinstance(yaml.safe_load(text), dict)
    for text in blocks(page, "python"):
        compile(text, page, "exec")
    if bash := shutil.which("bash"):
        for text in blocks(page, "sh"):
            said = subprocess.run([bash, "-n"], input=text, capture_output=True, text=True, check=False)
            assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("page", PAGES)
def test_pages_point_to_what_is_there(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^):#]+\.md)", text):
        assert (ROOT / "docs" / target).is_file(), target


def test_commands_of_the_guides_take_their_options() -> None:
    import click

    from gridplan.cli.run import command

    known = {name for option in command.params if isinstance(option, click.Option) for name in option.opts}
    for page in PAGES:
        for line in re.findall(r"^gridplan run .*", "\n".join(blocks(page, "sh")), re.M):
            assert set(re.findall(r" (--?[a-z][a-z-]*)", line.partition("#")[0])) <= known, line


def test_names_of_the_manifests_agree() -> None:
    found = manifests()
    cluster, job, account = found["DaskCluster"], found["Job"], found["ServiceAccount"]
    name = cluster["metadata"]["name"]
    scheduler, worker = cluster["spec"]["scheduler"], cluster["spec"]["worker"]
    assert scheduler["service"]["selector"] == {"dask.org/cluster-name": name, "dask.org/component": "scheduler"}
    named = {port["name"]: port["containerPort"] for port in scheduler["spec"]["containers"][0]["ports"]}
    ports = {port["targetPort"]: port["port"] for port in scheduler["service"]["ports"]}
    assert ports == named
    pod = job["spec"]["template"]["spec"]
    assert f"--scheduler=tcp://{name}-scheduler:{ports['tcp-comm']}" in pod["containers"][0]["command"]
    assert {pod["serviceAccountName"], worker["spec"]["serviceAccountName"]} == {account["metadata"]["name"]}
    containers = [spec["containers"][0] for spec in (pod, worker["spec"], scheduler["spec"])]
    assert {one["image"] for one in containers} == {f"ORG/gridplan-dask:{gridplan.__version__}"}
    assert f"gridplan[distributed,s3]=={gridplan.__version__}" in blocks("cluster-kubernetes.md", "dockerfile")[0]
    commands = "\n".join(blocks("cluster-kubernetes.md", "sh"))
    for said in (
        f"docker build -t {containers[0]['image']} .",
        f"kubectl create configmap {pod['volumes'][0]['configMap']['name']} --from-file=wide.yaml",
        f"kubectl create secret generic {pod['containers'][0]['envFrom'][0]['secretRef']['name']} ",
        f"-l dask.org/cluster-name={name} ",
        f"kubectl logs -f job/{job['metadata']['name']}",
        f"daskworkergroup {name}-default ",
        f"svc/{name}-scheduler {ports['tcp-comm']}:{ports['tcp-comm']}",
    ):
        assert said in commands
    assert worker["spec"]["containers"][0]["envFrom"] == pod["containers"][0]["envFrom"]


def changed_to(words: list[str], **changes: str) -> list[str]:
    """A command of a container with other values of its options."""
    return [changes.get(word.partition("=")[0].lstrip("-"), word) for word in words]


def test_commands_of_the_manifests_plan_a_cube(
    tmp_path: Path, until: Callable[..., None], cli: Callable[..., Any]
) -> None:
    from distributed import Client

    found, port = manifests(), free_port()
    cluster, address = found["DaskCluster"]["spec"], f"tcp://127.0.0.1:{port}"
    scheduler = cluster["scheduler"]["spec"]["containers"][0]["command"]
    worker = cluster["worker"]["spec"]["containers"][0]["command"]
    run = found["Job"]["spec"]["template"]["spec"]["containers"][0]["command"]
    # The operator gives workers these two.
    given = {**os.environ, "DASK_SCHEDULER_ADDRESS": address, "DASK_WORKER_NAME": "planner-default-worker-1"}
    worker = [word.replace("$(DASK_WORKER_NAME)", given["DASK_WORKER_NAME"]) for word in worker]
    own = ["--port", str(port), "--dashboard-address", "127.0.0.1:0"]
    processes = []
    with (tmp_path / "log").open("w") as log:
        try:
            for program, *words in ([*scheduler, *own], worker):
                assert program == "dask"
                words = ["127.0.0.1" if word == "0.0.0.0" else word for word in words]
                words = [sys.executable, "-m", "dask", *words]
                processes.append(subprocess.Popen(words, env=given, stdout=log, stderr=log, cwd=tmp_path))
                until(lambda: b"Scheduler at" in (tmp_path / "log").read_bytes())
            with Client(address, timeout=30, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=60)
                (one,) = client.scheduler_info()["workers"].values()
                assert (one["name"], one["nthreads"]) == (given["DASK_WORKER_NAME"], 1)
            changed = {"output": f"--output={tmp_path / 'cube'}", "scheduler": f"--scheduler={address}"}
            program, *words = changed_to(run, **changed)
            assert program == "gridplan"
            said = cli(*(GRID if word == "/grid/wide.yaml" else word for word in words))
            assert said.code == 0, said.err
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(timeout=60)
    assert verify_cube(tmp_path / "cube").layout.cells == 72_000


SBATCH = """#!PYTHON
import itertools, os, shutil, subprocess, sys

place = os.environ["PLAYED_SLURM"]
number = next(n for n in itertools.count(101) if not os.path.exists(f"{place}/{n}.sh"))
shutil.copy(sys.argv[-1], f"{place}/{number}.sh")
with open(f"{place}/{number}.log", "w") as log:
    job = subprocess.Popen(["bash", f"{place}/{number}.sh"], stdout=log, stderr=log, start_new_session=True)
with open(f"{place}/{number}.pid", "w") as file:
    file.write(str(job.pid))
print("Submitted batch job", number)
"""
SCANCEL = """#!PYTHON
import os, signal, sys

for number in sys.argv[1:]:
    with open(os.environ["PLAYED_SLURM"] + f"/{number}.pid") as file:
        os.killpg(int(file.read()), signal.SIGTERM)
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """`sbatch` and `scancel` that start and end jobs on this machine at once; gives the folder of their files."""
    place = tmp_path / "slurm"
    (place / "bin").mkdir(parents=True)
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (place / "bin" / name).write_text(text.replace("PYTHON", sys.executable), encoding="utf-8")
        (place / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PLAYED_SLURM", str(place))
    monkeypatch.setenv("DASK_CONFIG", str(tmp_path / "dask"))
    try:
        yield place
    finally:
        for file in place.glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(file.read_text()), signal.SIGKILL)


def test_the_program_for_slurm_plans_a_cube(tmp_path: Path, slurm: Path) -> None:
    pytest.importorskip("dask_jobqueue")
    import psutil

    if "lo" not in psutil.net_if_addrs() or shutil.which("bash") is None:
        pytest.skip("needs bash and an interface lo")
    (program,) = blocks("cluster-slurm.md", "python")
    own = {'"/shared': f'"{tmp_path}', '"ib0"': '"lo"', '"wide.yaml"': repr(str(GRID)), "jobs=64": "jobs=1"}
    own['local_directory="/tmp"'] = f"local_directory={str(tmp_path)!r}"
    for shown, here_ in own.items():
        assert shown in program
        program = program.replace(shown, here_)
    (tmp_path / "plan.py").write_text(program, encoding="utf-8")
    said = subprocess.run(
        [sys.executable, "plan.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert said.returncode == 0, said.stderr
    *script, address, result = said.stdout.strip().splitlines()
    assert result == f"<RunResult '{tmp_path / 'cube'}': 72,000 cells>"
    assert verify_cube(tmp_path / "cube").layout.cells == 72_000
    assert re.fullmatch(r"tcp://127\.0\.0\.1:\d+", address)
    jobs = list(slurm.glob("*.sh"))
    assert len(jobs) == 1
    assert f"{address} --name SLURMCluster-0 --nthreads 1" in jobs[0].read_text()
    # The page shows the same script, with names of another machine.
    text = (
        "\n".join(script)
        .replace(sys.executable, "/shared/gridplan/bin/python")
        .replace(address, "tcp://10.0.0.7:39047")
    )
    text = text.replace("--local-directory " + str(tmp_path), "--local-directory /tmp").replace(
        str(tmp_path), "/shared"
    )
    (shown,) = blocks("cluster-slurm.md", "text")
    assert text.replace("--interface lo", "--interface ib0").strip() == shown.strip()


def test_the_policy_allows_what_a_run_does(monkeypatch: pytest.MonkeyPatch) -> None:
    s3fs = pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    import boto3

    policy = json.loads(blocks("cluster-buckets.md", "json")[0])
    listing, objects = (statement["Action"] for statement in policy["Statement"])
    grid, address = gridplan.load_grid(GRID), "s3://bucket/cubes/wide"
    # The calls below that make users come before moto begins to ask for permission.
    with moto_server(INITIAL_NO_AUTH_ACTION_COUNT="7") as server:
        known = {"endpoint_url": server, "region_name": "us-east-1"}
        known |= {"aws_access_key_id": "an-id", "aws_secret_access_key": "a-secret"}
        boto3.client("s3", **known).create_bucket(Bucket="bucket")
        iam = boto3.client("iam", **known)
        keys = {}
        for who, actions in (("planner", [listing, *objects]), ("reader", [listing, "s3:GetObject"])):
            allowed = {"Effect": "Allow", "Action": actions, "Resource": "*"}
            document = json.dumps({"Version": policy["Version"], "Statement": [allowed]})
            iam.create_user(UserName=who)
            iam.put_user_policy(UserName=who, PolicyName="own", PolicyDocument=document)
            keys[who] = iam.create_access_key(UserName=who)["AccessKey"]

        @contextlib.contextmanager
        def being(who: str) -> Iterator[None]:
            own = {
                "AWS_ACCESS_KEY_ID": keys[who]["AccessKeyId"],
                "AWS_SECRET_ACCESS_KEY": keys[who]["SecretAccessKey"],
            }
            own |= {"AWS_ENDPOINT_URL_S3": server, "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1"}
            with monkeypatch.context() as patch:
                for name, value in own.items():
                    patch.setenv(name, value)
                s3fs.S3FileSystem.clear_instance_cache()  # a client keeps the keys that it was made with
                try:
                    yield
                finally:
                    s3fs.S3FileSystem.clear_instance_cache()

        with being("planner"):
            for force in (False, True):
                gridplan.run(grid, address, force=force, outputs=["gpus"])
            gridplan.run(grid, address, resume=True, outputs=["gpus"])
            # Nothing of a run is left beside the cube: what it may not delete, S3 keeps without a word.
            names = ["facts/part-00000.parquet", "manifest.json", "receipts/part-00000.json"]
            found = sorted(s3fs.S3FileSystem().find(address))
            assert found[-3:] == [f"bucket/cubes/wide/{name}" for name in names]
        with being("reader"):
            assert gridplan.open_cube(address, ["gpus"]).sizes["gpu"] == 8
            with pytest.raises(RefusedError, match="Access Denied"):
                gridplan.run(grid, "s3://bucket/cubes/other", outputs=["gpus"])
