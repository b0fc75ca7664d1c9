import { execa } from 'execa'
import { expect, test } from 'vitest'
import { root } from './source-file.ts'

/** What `src/lib/http/node-http.ts` leaves out: the package of which Node makes its `fetch`. */
const OF_NODE = 'undici of Node'

/** Prints the packages that are loaded with a module, as JSON. */
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
  if (process.moduleLoadList.some((name) => name.includes('deps/undici'))) packages.add('${OF_NODE}')
  console.log(JSON.stringify([...packages].toSorted()))
`

async function packagesOf(module: string): Promise<readonly string[]> {
  const args = [
    '--input-type=module',
    '--eval',
    PROGRAM,
    module.startsWith('node:') ? module : `${root}/${module}`,
  ]
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

test('an import of node:http loads what Node has of undici', async () => {
  expect(await packagesOf('node:http')).toEqual([OF_NODE])
})
