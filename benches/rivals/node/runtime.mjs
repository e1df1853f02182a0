// The loop of a Lambda runtime: asks for an event, answers it. Lambda's own does a little more, so
// Node's figures are, if anything, too low.
import http from "node:http";
import { handler } from "./handler.mjs";

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const root = "/2018-06-01/runtime/invocation";

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
    const request = http.request({ host, port, agent, method, path: root + path, headers }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(parts).toString() }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

for (;;) {
  const next = await call("GET", "/next");
  const id = next.headers["lambda-runtime-aws-request-id"];
  try {
    await call("POST", `/${id}/response`, JSON.stringify(await handler(JSON.parse(next.body))));
  } catch (error) {
    await call("POST", `/${id}/error`, JSON.stringify({ errorType: error.name, errorMessage: error.message }));
  }
}
