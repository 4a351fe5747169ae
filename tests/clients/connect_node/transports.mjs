// The transports of both packages: every protocol, codec and compression, and GET for reads where there is that.

import * as node from "@connectrpc/connect-node";
import * as web from "@connectrpc/connect-web";

const http = { httpVersion: "1.1" };
const gzip = { sendCompression: node.compressionGzip, compressMinBytes: 1 };
const get = { useHttpGet: true };

// The last column: are answers compressed? connect-node asks for it unless told otherwise. fetch does too, but only in
// the way of HTTP, which is not that of gRPC-Web.
const kinds = [
  ["connect-node, Connect, no compression", node.createConnectTransport, { ...http, acceptCompression: [] }, false],
  ["connect-node, Connect, GET, gzip", node.createConnectTransport, { ...http, ...get, ...gzip }, true],
  ["connect-node, gRPC-Web", node.createGrpcWebTransport, http, true],
  ["connect-node, gRPC-Web, gzip", node.createGrpcWebTransport, { ...http, ...gzip }, true],
  ["connect-web, Connect", web.createConnectTransport, {}, true],
  ["connect-web, Connect, GET", web.createConnectTransport, get, true],
  ["connect-web, gRPC-Web", web.createGrpcWebTransport, {}, false],
];

const codecs = [true, false];

/// Each with what it should put on the wire.
export const transports = kinds.flatMap(([kind, create, options, gzipAnswers]) => codecs.map((useBinaryFormat) => {
  const grpcWeb = kind.includes("gRPC-Web");
  const codec = useBinaryFormat ? "proto" : "json";
  return {
    name: `${kind}, ${codec}`,
    make: (baseUrl) => create({ baseUrl, useBinaryFormat, ...options }),
    grpcWeb,
    json: !useBinaryFormat,
    contentType: grpcWeb ? `application/grpc-web+${codec}` : `application/${codec}`,
    get: Boolean(options.useHttpGet),
    gzip: Boolean(options.sendCompression),
    gzipAnswers,
  };
}));
