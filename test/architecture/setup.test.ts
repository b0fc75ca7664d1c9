import { readFile, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ScratchCheckout, scratchCheckout } from './scratch-checkout.ts'

const everyCommand = ['iptables-restore', 'nft', 'ipset', 'conntrack', 'ip', 'sysctl', 'modprobe']
  .concat(['nsenter', 'curl', 'openssl', 'ipvsadm', 'keepalived', 'etcd', 'promtool', 'kubectl'])
  .concat(['dig', 'kdig', 'dnsperf', 'zsh', 'fish', 'chromium'])

/** An npm that records its call and installs what the lock file would. */
const npm = `
echo "npm $*" >> "$CHECKOUT/calls"
mkdir -p "$CHECKOUT/node_modules/.bin"
ln -sf "$NODE" "$CHECKOUT/node_modules/.bin/node"
echo '{}' > "$CHECKOUT/node_modules/.package-lock.json"`

async function calls(checkout: ScratchCheckout): Promise<readonly string[]> {
  const text = await readFile(join(checkout.path, 'calls'), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean)
}

async function withCommands(checkout: ScratchCheckout, except?: string): Promise<void> {
  for (const command of everyCommand.filter((name) => name !== except)) {
    await checkout.fake(command, ':')
  }
}

test('installs the npm packages once, and is silent the second time', async () => {
  await using checkout = await scratchCheckout()
  await checkout.fake('npm', npm)
  await withCommands(checkout)
  const first = await checkout.run('scripts/setup')
  expect(first.exitCode).toBe(0)
  expect(first.stdout).toBe('')
  expect(first.stderr).toMatch(/installing the npm packages .* … done in \d+ s/)
  expect(first.stderr).toContain(`installed the npm packages with Node ${process.version}`)
  const second = await checkout.run('scripts/setup')
  expect(second).toMatchObject({ exitCode: 0, stdout: '', stderr: '' })
  expect(await calls(checkout)).toEqual([expect.stringContaining('npm ci ')])
})

test('installs the npm packages again when the lock file is newer', async () => {
  await using checkout = await scratchCheckout()
  await checkout.fake('npm', npm)
  await withCommands(checkout)
  await checkout.run('scripts/setup')
  const later = new Date(Date.now() + 60_000)
  await utimes(join(checkout.path, 'package-lock.json'), later, later)
  await checkout.run('scripts/setup')
  expect(await calls(checkout)).toHaveLength(2)
})

test('shows what npm said when it failed, and fails', async () => {
  await using checkout = await scratchCheckout()
  await checkout.fake('npm', 'echo E404 not found >&2; exit 1')
  await withCommands(checkout)
  const { exitCode, stderr } = await checkout.run('scripts/setup')
  expect(exitCode).toBe(1)
  expect(stderr).toContain('E404 not found')
})

test('installs only the Debian packages that are missing, fetching lists only if need be', async () => {
  await using checkout = await scratchCheckout()
  await checkout.install()
  await withCommands(checkout, 'openssl')
  await checkout.fake(
    'apt-get',
    `echo "apt-get $*" >> "$CHECKOUT/calls"
if [ "$1" = update ]; then touch "$CHECKOUT/lists"; exit; fi
[ -e "$CHECKOUT/lists" ] && ln -s /bin/true "$CHECKOUT/path/openssl"`,
  )
  const { exitCode, stderr } = await checkout.run('scripts/setup')
  expect(stderr).toContain('installed the Debian packages openssl')
  expect(exitCode).toBe(0)
  const install = 'apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 openssl'
  expect(await calls(checkout)).toEqual([install, expect.stringContaining('update'), install])
})

test('without root it says what root should run, and leaves the rest usable', async () => {
  await using checkout = await scratchCheckout()
  await checkout.install()
  await withCommands(checkout, 'openssl')
  await checkout.fake('id', 'echo 1000')
  await checkout.fake('apt-get', 'echo "apt-get $*" >> "$CHECKOUT/calls"')
  const { exitCode, stderr } = await checkout.run('scripts/setup')
  expect(exitCode).toBe(0)
  expect(stderr).toContain('sudo apt-get install -y --no-install-recommends openssl')
  expect(await calls(checkout)).toEqual([])
})

test('installs libatomic1 when the project’s Node does not start without it', async () => {
  await using checkout = await scratchCheckout()
  await checkout.fake('npm', npm.replace('$NODE', '/bin/false'))
  await withCommands(checkout)
  await checkout.fake('apt-get', 'echo "apt-get $*" >> "$CHECKOUT/calls"')
  const { stderr } = await checkout.run('scripts/setup')
  expect(stderr).toContain('installed the npm packages')
  expect((await calls(checkout)).at(-1)).toMatch(/install .* libatomic1$/)
})

test('a kernel without ip_vs gets another one, where there is one for the processor', async () => {
  await using checkout = await scratchCheckout()
  await checkout.install()
  await withCommands(checkout)
  await checkout.fake('modprobe', 'echo "modprobe $*" >> "$CHECKOUT/calls"; exit 1')
  await checkout.fake('grep', 'exit 1')
  await checkout.fake(
    'apt-get',
    `echo "apt-get $*" >> "$CHECKOUT/calls"; ln -s /bin/true "$CHECKOUT/path/linux.uml"`,
  )
  await checkout.fake('uname', 'echo aarch64')
  expect((await checkout.run('scripts/setup')).exitCode).toBe(0)
  expect(await calls(checkout)).toEqual([])
  await checkout.fake('uname', 'echo x86_64')
  const { stderr } = await checkout.run('scripts/setup')
  expect(stderr).toContain('installed the Debian packages user-mode-linux')
  expect(await calls(checkout)).toEqual([
    'modprobe -qn ip_vs',
    expect.stringMatching(/^apt-get install .* user-mode-linux$/),
  ])
  expect(await checkout.run('scripts/setup')).toMatchObject({ exitCode: 0, stderr: '' })
})

test('on a processor with AMX the other kernel needs a compiler', async () => {
  await using checkout = await scratchCheckout()
  await checkout.install()
  await withCommands(checkout)
  await checkout.fake('modprobe', 'exit 1')
  await checkout.fake('uname', 'echo x86_64')
  await checkout.fake('linux.uml', ':')
  await checkout.fake('grep', 'echo "$*" >> "$CHECKOUT/calls"')
  await checkout.fake('apt-get', 'ln -s /bin/true "$CHECKOUT/path/tcc"')
  const { stderr } = await checkout.run('scripts/setup')
  expect(stderr).toContain('installed the Debian packages tcc')
  expect(await calls(checkout)).toEqual(['-qw amx_tile /proc/cpuinfo'])
  expect(await checkout.run('scripts/setup')).toMatchObject({ exitCode: 0, stderr: '' })
})

test('--check installs nothing and fails while anything is missing', async () => {
  await using checkout = await scratchCheckout()
  await withCommands(checkout)
  expect((await checkout.run('scripts/setup', ['--check'])).exitCode).toBe(1)
  await checkout.install()
  expect((await checkout.run('scripts/setup', ['--check'])).exitCode).toBe(0)
})
