import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { emulatorOf } from '../../../docker/image/emulator.ts'
import { ownProcessor, PROCESSORS } from '../../../packaging/node-program.ts'
import { root } from '../../support/on-demand/root.ts'

/** Vitest takes a minute to start when it is emulated, and the tests below two more. */
const TIMEOUT_MS = 15 * 60_000
const TIME = '1767225600'
const NAME = 'node-proxy'
const MANIFEST = 'package.json'
/** What tests and their configuration need of a checkout, beside npm packages. */
const CHECKOUT = ['src', 'test/support', MANIFEST, 'package-lock.json', 'tsconfig.json', '.npmrc']
/**
 * Unit tests of what the order of bytes, the size of a word or the layout of a structure could change. Tests that start
 * programs are not among them, because the kernel does not know how to start those of another processor.
 */
const UNIT_TESTS = [
  'src/kernel/conntrack/netlink-conntrack.test.ts',
  'src/kernel/ipset/',
  'src/kernel/ipvs/codec.test.ts',
  'src/kernel/ipvs/netlink-ipvs.test.ts',
  'src/kernel/ipvs/round-trip.test.ts',
  'src/kernel/netlink/',
  'src/kernel/nftables/nftables-monitor.test.ts',
  'src/kernel/route/',
  'src/kernel/sockets/socket-address.test.ts',
  'src/affinity/affinity-table.test.ts',
  'src/lib/hash.test.ts',
  'src/lib/ip-range.test.ts',
  'src/lib/ip.test.ts',
  'src/lib/special-address.test.ts',
  'src/modes/iptables/render.test.ts',
  'src/modes/ipvs/render.test.ts',
  'src/modes/nftables/program/render.test.ts',
]
/** Files share what was loaded once, in one process that starts no other. */
const CONFIGURATION = `export default {
  test: {
    include: ['src/**/*.test.ts'],
    setupFiles: ['test/support/same-examples.ts'],
    pool: 'threads',
    maxWorkers: 1,
    isolate: false,
    testTimeout: ${TIMEOUT_MS},
  },
}
`
/** Starts a program in the root file system $0, with the devices of this machine that it needs and a network of its own. */
const INSIDE = `for name in null random urandom; do mount --bind /dev/$name "$0/dev/$name"; done
mount -t proc proc "$0/proc"
ip link set lo up
exec chroot "$0" /emulator "$@"`

const processor = ownProcessor() === 'x64' ? 'arm64' : 'x64'
const architecture = PROCESSORS[processor]
const emulator = await emulatorOf(root, processor).catch((error: unknown) => String(error))
const skipped = typeof emulator === 'string' ? ` (skipped, no emulator: ${emulator})` : ''

describe.skipIf(skipped !== '')(`the image for ${architecture}${skipped}`, () => {
  let folder: string
  let files: string
  let image: Unpacked
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'np-processor-'))
    files = join(folder, 'root')
    image = await unpack(await build(join(folder, 'first')), files)
    writeFileSync(join(files, 'emulator'), emulator ?? '', { mode: 0o755 })
    for (const name of ['null', 'random', 'urandom']) writeFileSync(join(files, 'dev', name), '')
  }, TIMEOUT_MS)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const node = async (...words: readonly string[]) =>
    await inside(files, ['/usr/local/bin/node', ...words])
  const program = `/opt/node-proxy/bin/${NAME}`

  test('says for which processor it is', () => {
    expect(image.platform).toEqual({ architecture, os: 'linux' })
    expect(image.config).toMatchObject({
      architecture,
      os: 'linux',
      config: { Labels: { architecture } },
    })
    const sbom = readFileSync(join(folder, 'first', `${NAME}-${architecture}.spdx.json`), 'utf8')
    const debian = [...sbom.matchAll(/"pkg:deb\/debian\/[^"]+\?arch=(\w+)"/g)].map(([, of]) => of)
    expect(new Set(debian)).toEqual(new Set([architecture, 'all']))
    expect(sbom).toContain(`pkg:generic/node@${process.versions.node}?arch=${architecture}`)
  })

  test('has no program and no library of this processor', async () => {
    const machine = { x64: 62, arm64: 183 }[processor]
    const found = await programsIn(files)
    expect(found.size).toBeGreaterThan(100)
    expect([...found].filter(([, of]) => of !== machine)).toEqual([])
  })

  test('says its version and its flags', async () => {
    const { version } = JSON.parse(readFileSync(join(root, MANIFEST), 'utf8')) as {
      readonly version: string
    }
    expect((await node('-p', 'process.arch')).stdout).toBe(processor)
    expect((await node(program, '--version')).stdout).toBe(`${NAME} ${version}`)
    expect((await node(program, '--help')).stdout).toContain('--proxy-mode')
  })

  test('starts without compiling', async () => {
    const { stdout, stderr } = await inside(
      files,
      ['/usr/local/bin/node', '--max-semi-space-size=4', program, '--version'],
      { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
    )
    const taken = `${stdout}${stderr}`.match(/lib\/\S+\.js was (?:accepted|rejected)/g) ?? []
    expect(taken.length).toBeGreaterThan(5)
    expect(taken.filter((line) => line.endsWith('rejected'))).toEqual([])
  })

  test('is the same in every byte when it is built again', { timeout: TIMEOUT_MS }, async () => {
    const [first, second] = [join(folder, 'first'), join(folder, 'second')]
    onTestFinished(() => rmSync(second, { recursive: true, force: true }))
    await build(second)
    for (const kind of ['tar', 'spdx.json']) {
      const name = `${NAME}-${architecture}.${kind}`
      const isSame = readFileSync(join(first, name)).equals(readFileSync(join(second, name)))
      expect([name, isSame]).toEqual([name, true])
    }
  })

  test('its Node passes the unit tests of what a processor could change', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const checkout = join(files, 'checkout')
    for (const path of CHECKOUT) cpSync(join(root, path), join(checkout, path), { recursive: true })
    writeFileSync(join(checkout, 'emulated.config.ts'), CONFIGURATION)
    const target = [`--cpu=${processor}`, '--os=linux', '--libc=glibc']
    await execa('npm', ['ci', ...target, '--ignore-scripts', '--loglevel=error'], {
      cwd: checkout,
      stdin: 'ignore',
      timeout: TIMEOUT_MS,
    })
    const vitest = ['/checkout/node_modules/vitest/vitest.mjs', 'run', '--root', '/checkout']
    const report = '/checkout/report.json'
    const words = ['--config', '/checkout/emulated.config.ts', '--reporter=json']
    const run = node(...vitest, ...words, `--outputFile=${report}`, ...UNIT_TESTS)
    const failure = await run.then(
      () => undefined,
      (error: unknown) => error,
    )
    if (!existsSync(join(files, report))) throw failure
    const results = readReport(join(files, report))
    const failed = results.filter(({ status }) => status !== 'passed')
    expect(failed.map((one) => [one.fullName, ...one.failureMessages])).toEqual([])
    expect(failure).toBeUndefined()
    expect(results.length).toBeGreaterThan(200)
  })
})

/** What vitest says of one test. */
interface Result {
  readonly fullName: string
  readonly status: string
  readonly failureMessages: readonly string[]
}

function readReport(path: string): readonly Result[] {
  const { testResults } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly testResults: readonly { readonly assertionResults: readonly Result[] }[]
  }
  return testResults.flatMap(({ assertionResults }) => assertionResults)
}

interface Unpacked {
  readonly platform: unknown
  readonly config: unknown
}

/** As `npm run image` does. Returns the path of the archive. */
async function build(folder: string): Promise<string> {
  const flags = [`--architecture=${architecture}`, '--output', folder]
  await execa(process.execPath, [join(root, 'docker/image/main.ts'), ...flags, NAME], {
    cwd: root,
    env: { SOURCE_DATE_EPOCH: TIME },
    stdin: 'ignore',
    timeout: TIMEOUT_MS,
  })
  return join(folder, `${NAME}-${architecture}.tar`)
}

/** Unpacks the layers of an archive, one over the other. */
async function unpack(archive: string, into: string): Promise<Unpacked> {
  const blobs = `${into}-archive`
  for (const folder of [blobs, into]) await execa('mkdir', ['-p', folder])
  await execa('tar', ['-xf', archive, '-C', blobs])
  const read = (path: string): unknown => JSON.parse(readFileSync(join(blobs, path), 'utf8'))
  const blob = ({ digest }: Digest) => `blobs/${digest.replace(':', '/')}`
  const { manifests } = read('index.json') as {
    manifests: readonly (Digest & { platform: unknown })[]
  }
  const [described] = manifests
  if (described === undefined) throw new Error(`${archive} has no image`)
  const { config, layers } = read(blob(described)) as { config: Digest; layers: readonly Digest[] }
  for (const layer of layers) await execa('tar', ['-xzf', join(blobs, blob(layer)), '-C', into])
  return { platform: described.platform, config: read(blob(config)) }
}

interface Digest {
  readonly digest: string
}

/** Runs a program of the image, as its configuration says. */
async function inside(
  files: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) {
  const apart = ['--mount', '--net', '--pid', '--fork', '--kill-child']
  return await execa('unshare', [...apart, 'sh', '-ec', INSIDE, files, ...words], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: '/tmp',
      NODE_COMPILE_CACHE: '/opt/node-proxy/cache',
      NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
      ...environment,
    },
    extendEnv: false,
    stdin: 'ignore',
    timeout: TIMEOUT_MS,
  })
}

/** ELF's number of the processor, of each program and library below a folder; see elf(5). */
async function programsIn(folder: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>()
  const { stdout } = await execa('find', [folder, '-type', 'f', '-not', '-name', 'emulator'])
  for (const path of stdout.split('\n')) {
    const file = readFileSync(path)
    if (file.length > 20 && file.toString('latin1', 0, 4) === '\x7fELF') {
      found.set(path.slice(folder.length), file.readUInt16LE(18))
    }
  }
  return found
}
