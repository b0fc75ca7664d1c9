/**
 * Node's HTTP, without what an `import` of it costs every process: an `import` reads each export, and at the first
 * reading of `WebSocket` Node loads its `fetch`. That takes 16 MB and a tenth of a second of processor time; 3 MB and half
 * of the time where compiled code is kept.
 */
export const { createServer, request, ServerResponse } = process.getBuiltinModule('node:http')
