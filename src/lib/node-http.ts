/**
 * Node's HTTP, without what an `import` of it costs every process: 16 MB and a tenth of a second of processor time. An
 * `import` reads each export once, and at the first reading of `WebSocket` Node loads its `fetch`.
 */
export const { createServer, request, ServerResponse } = process.getBuiltinModule('node:http')
