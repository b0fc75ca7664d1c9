import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { createServer } from '../../../../src/lib/http/node-http.ts'

const FOLDERS = ['kubernetes.io', 'orch.io'].map(
  (brand) => `/var/run/secrets/${brand}/serviceaccount`,
)

interface ApiAnswer {
  readonly status: number | undefined
  readonly body: unknown
}

/**
 * The process of a Pod. `GET /token-files` names the mounted tokens, `/getent/NAME` what libc finds for a name, and
 * `/resolv.conf` is that file, `/connect/ADDRESS:PORT` what becomes of a TCP connection; any other path is requested of
 * the API with the mounted token, as a program in a Pod does it.
 */
createServer(({ url = '/' }, response) => {
  const answer =
    url === '/token-files'
      ? Promise.resolve(
          FOLDERS.map((folder) => `${folder}/token`).filter((path) => existsSync(path)),
        )
      : url.startsWith('/getent/')
        ? getent(url.slice('/getent/'.length))
        : url === '/resolv.conf'
          ? Promise.resolve({ text: readFileSync('/etc/resolv.conf', 'utf8') })
          : url.startsWith('/connect/')
            ? connected(url.slice('/connect/'.length))
            : requestApi(url)
  answer.then(
    (content) => response.end(JSON.stringify(content)),
    (error: unknown) => response.end(JSON.stringify({ error: String(error) })),
  )
}).listen(8080)
process.on('SIGTERM', () => process.exit(0))

/** The addresses that libc finds for a name, each once; none for a name that does not exist. */
function getent(name: string): Promise<{ readonly addresses: readonly string[] }> {
  const { promise, resolve } = Promise.withResolvers<{ readonly addresses: readonly string[] }>()
  execFile('getent', ['ahosts', name], (_error, stdout) => {
    const addresses = stdout.split('\n').flatMap((line) => line.split(/\s/, 1))
    resolve({ addresses: [...new Set(addresses)].filter((address) => address !== '').toSorted() })
  })
  return promise
}

/** `connected`, or the code of the error: `ECONNREFUSED`; `ETIMEDOUT` after three seconds. */
function connected(target: string): Promise<{ readonly outcome: string }> {
  const { promise, resolve } = Promise.withResolvers<{ readonly outcome: string }>()
  const [host = '', port] = target.split(':')
  const socket = connect({ host, port: Number(port), timeout: 3_000 })
  const end = (outcome: string): void => {
    resolve({ outcome })
    socket.destroy()
  }
  socket.on('connect', () => end('connected'))
  socket.on('timeout', () => end('ETIMEDOUT'))
  socket.on('error', (error: NodeJS.ErrnoException) => end(String(error.code)))
  return promise
}

/** At https://orch.default.svc: the address from the environment, the name from the certificate. */
function requestApi(path: string): Promise<ApiAnswer> {
  const [folder = ''] = FOLDERS
  const token = readFileSync(`${folder}/token`, 'utf8')
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
  const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>()
  const options = {
    host,
    port,
    path,
    agent: false as const,
    servername: 'orch.default.svc',
    ca: readFileSync(`${folder}/ca.crt`),
    headers: { host: 'orch.default.svc', authorization: `Bearer ${token}` },
  }
  request(options, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
      resolve({ status: response.statusCode, body })
    })
  })
    .on('error', reject)
    .end()
  return promise
}
