import { readFileSync } from 'node:fs'
import { chmod, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { scratchCheckout } from './scratch-checkout.ts'

const echo = `
const { argv, version, cwd } = process
console.log(JSON.stringify({ args: argv.slice(2), version, cwd: cwd() }))
`

test.each([
  ['bin/node-proxy', 'src/nodeproxy/main.ts'],
  ['bin/orch-server', 'src/orchserver/main.ts'],
  ['bin/orchctl', 'src/orchctl/main.ts'],
])(
  '%s runs on the Node that npm installed, from any directory, with all arguments',
  async (program, main) => {
    await using checkout = await scratchCheckout()
    await checkout.install()
    await checkout.write(main, echo)
    const args = ['--config=a file', '', '$HOME', '--', '-v', '2']
    const { stdout } = await checkout.run(program, args, '/')
    expect(JSON.parse(stdout)).toEqual({ args, version: process.version, cwd: '/' })
  },
)

test('runs through a chain of symlinks', async () => {
  await using checkout = await scratchCheckout()
  await checkout.install()
  await checkout.write('src/nodeproxy/main.ts', echo)
  await symlink('../bin/node-proxy', join(checkout.path, 'scripts/one'))
  await symlink(join(checkout.path, 'scripts/one'), join(checkout.path, 'two'))
  const { stdout } = await checkout.run('two', ['x'], '/')
  expect(JSON.parse(stdout)).toMatchObject({ args: ['x'] })
})

test('a version is replaced by another one without a moment in which none starts', async () => {
  await using place = await scratchCheckout()
  await using old = await scratchCheckout()
  await using next = await scratchCheckout()
  for (const [name, checkout] of Object.entries({ old, next })) {
    await checkout.install()
    await checkout.write('src/nodeproxy/main.ts', `console.log('${name}')`)
  }
  const link = join(place.path, 'current')
  await symlink(old.path, link)
  const page = readFileSync(new URL('../../docs/operate/upgrade.md', import.meta.url), 'utf8')
  const [line = ''] = /^ln -sfn .* && mv -T .*$/m.exec(page) ?? []
  let isOver = false
  const upgrade = async (): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      const target = round % 2 === 0 ? next.path : old.path
      const command = line
        .replaceAll('/opt/node-proxy', link)
        .replace(/-sfn \S+/, `-sfn '${target}'`)
      await execa('sh', ['-euc', command])
    }
    isOver = true
  }
  const seen = new Set<string>()
  const start = async (): Promise<void> => {
    do {
      const { stdout, exitCode } = await place.run('current/bin/node-proxy', [], '/')
      seen.add(`${exitCode} ${stdout}`)
    } while (!isOver)
  }
  await Promise.all([upgrade(), start()])
  await start()
  expect([...seen].filter((one) => one !== '0 old' && one !== '0 next')).toEqual([])
}, 60_000)

test('signals reach the daemon, and its exit status comes back', async () => {
  await using checkout = await scratchCheckout()
  await checkout.install()
  await checkout.write(
    'src/nodeproxy/main.ts',
    `const alive = setInterval(() => {}, 1000)
process.on('SIGTERM', () => { clearInterval(alive); process.exitCode = 7 })
console.log('up')`,
  )
  const daemon = checkout.run('bin/node-proxy')
  daemon.stdout.once('data', () => daemon.kill('SIGTERM'))
  expect((await daemon).exitCode).toBe(7)
})

test('without npm packages it says what to run', async () => {
  await using checkout = await scratchCheckout()
  const { exitCode, stderr } = await checkout.run('bin/node-proxy', [], '/')
  expect(exitCode).toBe(69)
  expect(stderr).toContain('npm packages are not installed')
  expect(stderr).toContain(`cd ${checkout.path} && npm ci`)
})

test.each([
  ['node: --nonsense is not allowed in NODE_OPTIONS', 'correct NODE_OPTIONS'],
  ['node: error while loading shared libraries: libatomic.so.1', 'apt-get install libatomic1'],
  ['Permission denied', 'npm ci'],
])(
  'a Node that does not start (%s) is reported as it is, with its remedy',
  async (reason, remedy) => {
    await using checkout = await scratchCheckout()
    await checkout.install()
    const own = `node_modules/node-linux-${process.arch}/bin/node`
    await rm(join(checkout.path, own))
    await checkout.write(own, `#!/bin/sh\necho '${reason}' >&2\nexit 9\n`)
    await chmod(join(checkout.path, own), 0o755)
    const { exitCode, stderr } = await checkout.run('bin/node-proxy')
    expect(exitCode).toBe(69)
    expect(stderr).toContain(`does not start: ${reason}\n`)
    expect(stderr.split('\n').at(-1)).toContain(remedy)
  },
)

test('a Node that has started once is not started again to see its version, unless NODE_OPTIONS are set', async () => {
  await using checkout = await scratchCheckout()
  await checkout.install()
  const own = `node_modules/node-linux-${process.arch}/bin/node`
  const calls = join(checkout.path, 'calls')
  await rm(join(checkout.path, own))
  await checkout.write(own, `#!/bin/sh\necho "$1" >>'${calls}'\necho v99.0.0\n`)
  await chmod(join(checkout.path, own), 0o755)
  const versions = async (command: string): Promise<number> => {
    await rm(calls, { force: true })
    const { exitCode } = await checkout.run(command)
    expect(exitCode).toBe(0)
    const lines = readFileSync(calls, 'utf8').trim().split('\n')
    return lines.filter((line) => line === '--version').length
  }
  expect(await versions('bin/node-proxy')).toBe(1)
  expect(await versions('bin/node-proxy')).toBe(0)
  const withOptions = 'NODE_OPTIONS=--no-warnings exec bin/node-proxy'
  await checkout.write('with-options', `#!/bin/sh\n${withOptions}\n`)
  await chmod(join(checkout.path, 'with-options'), 0o755)
  expect(await versions('with-options')).toBe(1)
})

test('a machine whose processor has no packaged Node falls back to a new enough one', async () => {
  await using checkout = await scratchCheckout()
  await checkout.write('node_modules/.package-lock.json', '{}')
  await checkout.write('src/nodeproxy/main.ts', echo)
  const refused = await checkout.run('bin/node-proxy')
  expect(refused.stderr).toContain('no Node 26 or newer')
  expect(refused.exitCode).toBe(69)
  await checkout.fake('node', 'exec "$NODE" "$@"')
  const { stdout } = await checkout.run('bin/node-proxy', ['x'])
  expect(JSON.parse(stdout)).toMatchObject({ args: ['x'], version: process.version })
})
