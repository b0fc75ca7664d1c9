import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Application, applicationOf } from '../../packaging/bundle/application.ts'
import { bundlePrograms } from '../../packaging/bundle/bundle.ts'
import { CACHE, COMPILE_FLAGS } from '../../packaging/bundle/compile.ts'
import { root } from '../support/on-demand/root.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'np-bundle-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

describe('the bundle', () => {
  const run = async (path: string): Promise<string> =>
    (await execa(process.execPath, [join(folder, path)])).stdout

  test('finds what modules name by their own place, as in the checkout', async () => {
    write({
      'package.json': '{"type":"module"}',
      'data.txt': 'read beside the checkout',
      'bin/tool': 'exec node --max-semi-space-size=4 "$bin/../src/tool/main.ts"',
      'src/tool/main.ts': `import { text } from './deep/reader.ts'
        const lines: string[] = [await text()]
        const { later } = await import('./deep/later.ts')
        console.log([...lines, ...(await later())].join())`,
      'src/tool/deep/reader.ts': `import { readFile } from 'node:fs/promises'
        export const text = (): Promise<string> => readFile(new URL('../../../data.txt', import.meta.url), 'utf8')`,
      'src/tool/deep/later.ts': `import { readFileSync } from 'node:fs'
        import { join } from 'node:path'
        import { Worker } from 'node:worker_threads'
        export function later(): Promise<string[]> {
          const own = readFileSync(join(import.meta.dirname, '../../../data.txt'), 'utf8')
          const worker = new Worker(new URL('./some-worker.ts', import.meta.url))
          return new Promise((resolve) => worker.once('message', (said: string) => resolve([own, said])))
        }`,
      'src/tool/deep/some-worker.ts': `import { parentPort } from 'node:worker_threads'
        parentPort?.postMessage('from a thread')`,
    })
    const bundle = await bundlePrograms(folder, ['tool'])
    write(Object.fromEntries(bundle.files))
    expect([...bundle.starting].toSorted()).toEqual(['lib/tool-deep-some-worker.js', 'lib/tool.js'])
    const said = 'read beside the checkout,read beside the checkout,from a thread'
    expect(await run('src/tool/main.ts')).toBe(said)
    expect(await run('lib/tool.js')).toBe(said)
    expect(bundle.modules).toContain('src/tool/deep/later.ts')
  })

  test.each([`join(__dirname, '../data/x.txt')`, `join(__dirname, "../data/x.txt")`])(
    'finds what a package reads by its own place: %s',
    async (place) => {
      write({
        'package.json': '{"type":"module"}',
        'bin/tool': 'exec node "$bin/../src/tool/main.ts"',
        'src/tool/main.ts': `import read from 'reader'
          console.log(read())`,
        'node_modules/reader/package.json': '{"name":"reader","main":"code/index.js"}',
        'node_modules/reader/code/index.js': `const { join } = require('node:path')
          module.exports = () => require('node:fs').readFileSync(${place}, 'utf8')`,
        'node_modules/reader/data/x.txt': 'beside the package',
      })
      const bundle = await bundlePrograms(folder, ['tool'])
      write(Object.fromEntries(bundle.files))
      expect([...bundle.beside]).toEqual(['node_modules/reader/data/x.txt'])
      expect(await run('lib/tool.js')).toBe('beside the package')
    },
  )

  test('is of ASCII, and says the same', async () => {
    write({
      'bin/tool': 'exec node "$bin/../src/tool/main.ts"',
      'src/tool/main.ts': `const µ = ['…', '\\…', '\\\\…', '🐘', /^[…]$/.test('…'), /^[🐘]$/u.test('🐘')] // …
        console.log(JSON.stringify([...µ, \`\${µ.length} … \\n\`]))`,
    })
    const bundle = await bundlePrograms(folder, ['tool'])
    write(Object.fromEntries(bundle.files))
    expect(bundle.files.get('lib/tool.js')).toMatch(/^\p{ASCII}+$/u)
    expect(JSON.parse(await run('lib/tool.js'))).toEqual(JSON.parse(await run('src/tool/main.ts')))
  })

  test('refuses a place that it does not know', async () => {
    write({
      'bin/tool': 'exec node "$bin/../src/tool/main.ts"',
      'src/tool/main.ts': 'console.log(import.meta.main)',
    })
    await expect(bundlePrograms(folder, ['tool'])).rejects.toThrow('import.meta.main')
  })
})

describe('the application of node-proxy', () => {
  let application: Application
  beforeAll(async () => {
    application = await applicationOf({ root, version: '7.8.9' }, ['node-proxy'])
  })

  test.each([
    ['starts', 'lib/node-proxy.js'],
    ['starts as a thread', 'lib/modes-userspace-pool-worker-main.js'],
    ['serves', 'src/page/files/main.ts'],
    ['serves of a package', 'node_modules/preact/dist/preact.mjs'],
    ['has of a package that reads it', 'node_modules/@grpc/grpc-js/proto/channelz.proto'],
    ['loads as it is', 'node_modules/netlink/dist/raw.js'],
  ])('has what it %s', (_how, path) => {
    expect([...application.files.keys()]).toContain(path)
  })

  test('has no test, and nothing of another program', () => {
    const text = [...application.files.values()].map(({ content }) => content.toString()).join('\n')
    const parts = [...text.matchAll(/^\/\/ ((?:src|node_modules)\/\S+)$/gm)].map(
      ([, path = '']) => path,
    )
    expect(parts).toContain('src/nodeproxy/daemon.ts')
    const strange = /\.test\.ts$|\/testing\/|^src\/(?:apiserver|orchctl|sandbox)\//
    const all = [...parts, ...application.files.keys()]
    expect(all.filter((path) => strange.test(path))).toEqual([])
  })

  test('says that it is of the version of its checkout, with the licences of its npm packages', () => {
    const { files, npm } = application
    expect(JSON.parse(String(files.get('package.json')?.content))).toMatchObject({
      version: '7.8.9',
      type: 'module',
    })
    expect(npm.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['netlink', 'pino', 'preact']),
    )
    expect(npm.map(({ name }) => name)).not.toContain('vitest')
    const pino = npm.find(({ name }) => name === 'pino')
    expect([...files.keys()]).toContain(`licenses/pino@${pino?.version}.gz`)
  })

  test('starts from what its own program compiled', { timeout: 120_000 }, async () => {
    const { files, compile } = application
    write(Object.fromEntries([...files].map(([path, { content }]) => [path, content])))
    write({ 'compile.js': compile })
    await execa(process.execPath, [...COMPILE_FLAGS, 'compile.js'], { cwd: folder })
    const modules = [...files.keys()].filter((path) => path.startsWith('lib/'))
    const compiled = globSync(`${CACHE}/*/*`, { cwd: folder })
    expect(compiled.length).toBeGreaterThanOrEqual(modules.length)
    const { stdout, stderr } = await execa(process.execPath, ['lib/node-proxy.js', '--version'], {
      cwd: folder,
      env: { NODE_COMPILE_CACHE: join(folder, CACHE), NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
    })
    const said = `${stdout}\n${stderr}`
    expect(said).toContain('node-proxy 7.8.9')
    expect(said).toMatch(/lib\/node-proxy\.js.* was accepted/)
    expect(said).not.toMatch(/was rejected|writing cache/)
  })
})
