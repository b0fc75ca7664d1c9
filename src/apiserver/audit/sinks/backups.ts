import { readdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Which files that were put aside are kept. */
export interface Retention {
  /** The newest ones; 0: all. */
  readonly maxBackups: number
  /** Days since they were put aside; 0: for ever. */
  readonly maxAgeDays: number
}

const DAY_MS = 86_400_000
const STAMP = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2}\.\d{3})$/

/** `audit.log` put aside is `audit-2026-01-31T10-20-30.456.log`: UTC, as kube-apiserver names them. */
export async function backupPath(path: string, now: number): Promise<string> {
  const { prefix, suffix } = partsOf(path)
  for (let time = now; ; time++) {
    const stamp = new Date(time).toISOString().slice(0, -1).replaceAll(':', '-')
    const candidate = join(dirname(path), `${prefix}${stamp}${suffix}`)
    if (!(await exists(candidate))) return candidate
  }
}

/** Removes files that were put aside and are too many or too old; no other file. */
export async function removeOldBackups(path: string, keep: Retention, now: number): Promise<void> {
  const { prefix, suffix } = partsOf(path)
  const backups = (await readdir(dirname(path)))
    .map((name) => ({ name, time: timeOf(name, prefix, suffix) }))
    .filter((backup): backup is Backup => backup.time !== undefined)
    .toSorted((a, b) => b.time - a.time)
  const oldest = keep.maxAgeDays === 0 ? Number.NEGATIVE_INFINITY : now - keep.maxAgeDays * DAY_MS
  const most = keep.maxBackups === 0 ? backups.length : keep.maxBackups
  const old = backups.filter(({ time }, rank) => rank >= most || time < oldest)
  await Promise.all(old.map(({ name }) => unlink(join(dirname(path), name))))
}

interface Backup {
  readonly name: string
  readonly time: number
}

function partsOf(path: string): { readonly prefix: string; readonly suffix: string } {
  const name = basename(path)
  const dot = name.lastIndexOf('.')
  const end = dot < 0 ? name.length : dot
  return { prefix: `${name.slice(0, end)}-`, suffix: name.slice(end) }
}

/** When a file was put aside; undefined: it is another file. */
function timeOf(name: string, prefix: string, suffix: string): number | undefined {
  if (!name.startsWith(prefix) || !name.endsWith(suffix)) return undefined
  const stamp = STAMP.exec(name.slice(prefix.length, name.length - suffix.length))
  if (stamp === null) return undefined
  const [, date, hour, minute, second] = stamp
  const time = Date.parse(`${date}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(time) ? undefined : time
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
