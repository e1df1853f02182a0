"""An OCI image layout of one file for several platforms, in a tar that `skopeo` and BuildKit read, and `docker load` too.

https://github.com/opencontainers/image-spec/blob/main/image-layout.md

index.json names one index of images, from which a client takes the image of its platform. manifest.json is what a Docker
engine reads instead unless containerd keeps its images: it knows no platforms, so each image has a tag with the name of its
processor.
"""
import hashlib
import json
import time

from lib import archives

MEDIA = "application/vnd.oci.image."


def text(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Layout:
    """The files of an image layout, as they are added."""

    def __init__(self, name, version, epoch):
        self.name, self.version, self.epoch = name, version, epoch
        self.files = {"oci-layout": (text({"imageLayoutVersion": "1.0.0"}), 0o644)}
        self.manifests, self.loads = [], []

    def blob(self, kind, data):
        """Adds a blob, and returns its descriptor."""
        self.files[f"blobs/sha256/{digest(data)}"] = (data, 0o644)
        return {"mediaType": MEDIA + kind, "digest": f"sha256:{digest(data)}", "size": len(data)}

    def image(self, processor, files, labels):
        """Adds the image of one platform, whose one layer has `files`. It starts the file that is named as the image."""
        layer = archives.tar_bytes(files, self.epoch)
        packed = self.blob("layer.v1.tar+gzip", archives.gzipped(layer))
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.epoch))
        config = self.blob("config.v1+json", text({
            "created": created, "architecture": processor, "os": "linux",
            "config": {"Entrypoint": [f"/{self.name}"], "Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(layer)}"]},
            "history": [{"created": created, "comment": f"{self.name} {self.version}"}],
        }))
        manifest = self.blob("manifest.v1+json", text({
            "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "config": config, "layers": [packed], "annotations": labels}))
        self.manifests.append({**manifest, "platform": {"architecture": processor, "os": "linux"}})
        blob = lambda descriptor: "blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")
        self.loads.append({"Config": blob(config), "RepoTags": [f"{self.name}:{self.version}-{processor}"], "Layers": [blob(packed)]})

    def finished(self):
        """The files of the layout, with the index of its images."""
        index = self.blob("index.v1+json", text({
            "schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": self.manifests}))
        # containerd names the image by the first annotation. By the other one alone, its name would be the version.
        index["annotations"] = {"io.containerd.image.name": f"docker.io/library/{self.name}:{self.version}",
                                "org.opencontainers.image.ref.name": self.version}
        self.files["index.json"] = (text({"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [index]}), 0o644)
        self.files["manifest.json"] = (text(self.loads), 0o644)
        return self.files
