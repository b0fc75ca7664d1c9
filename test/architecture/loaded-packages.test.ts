import { execa } from 'execa'
import { expect, test } from 'vitest'
import { root } from './source-file.ts'

/** Prints the packages that are loaded with a module of this checkout, as JSON. */
const PROGRAM = `
  import { registerHooks } from 'node:module'
  const packages = new Set()
  registerHooks({
    load(url, context, next) {
      const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\/(?!.*node_modules)/.exec(url) ?? []
      if (name !== undefined) packages.add(name)
      return next(url, context)
    },
  })
  await import(process.argv[1])
  console.log(JSON.stringify([...packages].toSorted()))
`

async function packagesOf(module: string): Promise<readonly string[]> {
  const args = ['--input-type=module', '--eval', PROGRAM, `${root}/${module}`]
  const { stdout } = await execa(process.execPath, args, { cwd: root })
  return JSON.parse(stdout)
}

/** Each costs every node memory and time at the start; what only a request or a command needs is imported there. */
test('the daemon starts with these packages alone', async () => {
  expect(await packagesOf('src/nodeproxy/daemon.ts')).toEqual([
    '@opentelemetry/api',
    '@pinojs/redact',
    'atomic-sleep',
    'bintrees',
    'netlink',
    'node-gyp-build',
    'on-exit-leak-free',
    'pino',
    'pino-std-serializers',
    'prom-client',
    'quick-format-unescaped',
    'safe-stable-stringify',
    'sonic-boom',
    'tdigest',
    'thread-stream',
    'undici',
    'yaml',
  ])
})

/** Those of the client of etcd are not among them: the embedded store needs none. */
test('orch-server starts with these packages alone', async () => {
  expect(await packagesOf('src/orchserver/server.ts')).toEqual([
    '@bufbuild/protobuf',
    '@opentelemetry/api',
    'bintrees',
    'csv-parse',
    'fast-decode-uri-component',
    'fast-deep-equal',
    'fast-querystring',
    'find-my-way',
    'jose',
    'prom-client',
    'ret',
    'safe-regex2',
    'tdigest',
    'undici',
    'yaml',
  ])
})

/** Prints whether Node's own HTTP client (`fetch`) is loaded with a module. */
const CLIENT = `
  await import(process.argv[1])
  console.log(process.moduleLoadList.some((name) => name.includes('deps/undici')))
`

async function loadsClient(module: string): Promise<boolean> {
  const args = ['--input-type=module', '--eval', CLIENT, module]
  const { stdout } = await execa(process.execPath, args, { cwd: root })
  return JSON.parse(stdout)
}

/** Megabytes, and a tenth of a second of processor time, for a client that none of them uses (`src/lib/http/node-http.ts`). */
test.each(['src/nodeproxy/daemon.ts', 'src/orchserver/server.ts', 'src/orchdns/run-dns.ts'])(
  '%s starts without the HTTP client of Node',
  async (module) => {
    expect(await loadsClient(`${root}/${module}`)).toBe(false)
  },
)

test('an import of node:http is found', async () => {
  expect(await loadsClient('node:http')).toBe(true)
})
