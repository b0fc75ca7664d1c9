/**
 * The fault of a path inside a volume, as text that follows the name of its field; undefined: none. The node
 * agent writes files there as root, so a path must not lead out of the volume, or to the names with `..` that
 * are used to replace files.
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

/** The fault of the path at which a volume is mounted; undefined: none. */
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
