import { createServer } from 'node:http'

/** A backend: answers every request with its name. ADDRESS PORT NAME. */
const [address = '', port = '', name = ''] = process.argv.slice(2)
createServer((_request, response) => response.end(name)).listen(Number(port), address)
