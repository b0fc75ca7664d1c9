import { createServer } from 'node:http'

/**
 * A Pod's HTTP server. `/ready` says whether it is ready, which `POST /ready?no`
 * and SIGTERM take back. After SIGTERM it ends when it was queried for `/ready`
 * once more: then a client has seen that it leaves.
 */
function main(): void {
  let isReady = true
  let isLeaving = false
  const server = createServer((request, response) => {
    const { method, url = '' } = request
    if (method === 'POST') isReady = !url.endsWith('?no')
    const isProbe = method === 'GET' && url === '/ready'
    response.statusCode = isProbe && !isReady ? 503 : 200
    response.end(JSON.stringify(describe()), () => {
      if (isProbe && isLeaving) process.exit(0)
    })
  })
  server.listen(8080)
  process.on('SIGTERM', () => {
    isReady = false
    isLeaving = true
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
