import { execa } from 'execa'

const TIMEOUT_MS = 10 * 60_000

/** Installs Debian packages; updates the package lists if the present ones do not have them. */
export async function aptInstall(packages: readonly string[]): Promise<void> {
  await apt(['install', ...packages]).catch(async () => {
    await apt(['update'])
    await apt(['install', ...packages])
  })
}

async function apt(args: readonly string[]): Promise<void> {
  const options = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300']
  await execa('apt-get', [...options, ...args], {
    env: { DEBIAN_FRONTEND: 'noninteractive' },
    stdin: 'ignore',
    timeout: TIMEOUT_MS,
  })
}
