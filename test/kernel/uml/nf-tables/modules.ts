import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { release } from 'node:os'
import { join } from 'node:path'
import { root } from '../../../support/on-demand/root.ts'

/** The modules with which User-mode Linux has nf_tables for IPv4 and IPv6, in the order in which they are loaded. */
export const MODULES = [
  { folder: 'net/netfilter', name: 'nf_tables' },
  { folder: 'net/netfilter', name: 'nft_fib' },
  { folder: 'net/ipv4/netfilter', name: 'nft_fib_ipv4' },
  { folder: 'net/ipv6/netfilter', name: 'nft_fib_ipv6' },
  { folder: 'net/ipv4/netfilter', name: 'nft_reject_ipv4' },
  { folder: 'net/ipv6/netfilter', name: 'nft_reject_ipv6' },
] as const
/** What Debian's kernel has, and these modules need. */
const NEEDED = ['nfnetlink', 'nf_conntrack', 'nf_reject_ipv4', 'nf_reject_ipv6'] as const

/** Where they are built. */
export function modulesFolder(kernel: string): string {
  return join(root, 'node_modules/.cache/uml-modules', kernel)
}

/** Loads them if the kernel of this process has no nf_tables for both families; throws if they were not built. */
export function loadNfTables(): void {
  if (hasNfTables()) return
  const folder = modulesFolder(release())
  if (!existsSync(folder)) throw new Error(`not there: ${folder}, which npm run test:ipvs builds`)
  remove('nf_tables')
  run('modprobe', ['-a', ...NEEDED])
  for (const { name } of MODULES) {
    if (name === 'nft_reject_ipv4') run('modprobe', ['nft_reject'])
    run('insmod', [join(folder, `${name}.ko`)])
  }
}

/** Leaves the kernel as it was; throws while one of them is in use, as in a namespace that is going. */
export function unloadNfTables(): void {
  if (!existsSync(modulesFolder(release()))) return
  remove('nf_tables')
  if (usersOf('nf_tables') !== undefined) throw new Error('nf_tables is in use')
}

function hasNfTables(): boolean {
  const input = 'add table ip np-check\nadd table ip6 np-check\n'
  return spawnSync('nft', ['-c', '-f', '-'], { input }).status === 0
}

/** Removes a module, and before it those that need it, as far as they are not in use. */
function remove(name: string): void {
  const users = usersOf(name)
  if (users === undefined) return
  for (const user of users) remove(user)
  spawnSync('rmmod', [name])
}

/** The loaded modules that need one; undefined if it is not loaded itself. */
function usersOf(name: string): readonly string[] | undefined {
  const modules = readFileSync('/proc/modules', 'utf8').split('\n')
  const [, , , users] = modules.map((line) => line.split(' ')).find(([one]) => one === name) ?? []
  return users?.split(',').filter((user) => user !== '-' && user !== '')
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
}
