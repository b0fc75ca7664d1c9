/**
 * What is wrong with a path below a volume, as words that follow the name of its field; undefined: nothing. The node
 * agent writes files there as root, so no path may lead out of the volume, nor to the names `..…`
 * by which files are replaced.
 */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (path.includes('\0')) return 'must not hold a zero byte'
  if (path.startsWith('/')) return 'must be relative'
  const parts = path.split('/')
  if (parts.includes('..')) return 'must not contain ".."'
  if (path.startsWith('..')) return 'must not begin with ".."'
  if (parts.some((part) => part === '' || part === '.')) {
    return 'must name a file, without "." and without empty parts'
  }
  return undefined
}

/** What is wrong with the path at which a volume is mounted; undefined: nothing. */
export function mountPathFault(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must be absolute'
  if (path.includes('\0')) return 'must not hold a zero byte'
  const parts = path.split('/').filter((part) => part !== '')
  if (parts.includes('..')) return 'must not contain ".."'
  const [first] = parts.filter((part) => part !== '.')
  if (first === undefined) return 'must not be the root folder'
  return KERNEL_FOLDERS.has(first) ? `must not lie in /${first}, which is the kernel's` : undefined
}

const KERNEL_FOLDERS: ReadonlySet<string> = new Set(['proc', 'sys', 'dev'])
