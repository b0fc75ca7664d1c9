import { createServer } from '../../../src/lib/http/node-http.ts'

/**
 * A Pod's HTTP server. `GET /ready` says whether it is ready; `POST /ready?no` and SIGTERM make it unready. After SIGTERM
 * it goes on until `POST /leave`, so that a test can see that it is unready while it runs.
 */
function main(): void {
  let isReady = true
  const server = createServer((request, response) => {
    const { method, url = '' } = request
    const leaves = method === 'POST' && url === '/leave'
    if (method === 'POST' && !leaves) isReady = !url.endsWith('?no')
    const isProbe = method === 'GET' && url === '/ready'
    response.statusCode = isProbe && !isReady ? 503 : 200
    response.end(JSON.stringify(describe()), () => {
      if (leaves) process.exit(0)
    })
  })
  server.listen(8080)
  process.on('SIGTERM', () => {
    isReady = false
  })
  process.stdout.write('listening\n')
}

function describe() {
  const { POD_IP, GREETING, SHOP_SERVICE_PORT } = process.env
  return {
    pid: process.pid,
    env: { POD_IP, GREETING, SHOP_SERVICE_PORT },
    cwd: process.cwd(),
    args: process.argv.slice(2),
  }
}

main()
