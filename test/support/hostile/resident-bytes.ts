import { readFile } from 'node:fs/promises'

/** The resident memory of a process, now and at its peak. */
export async function residentBytes(
  pid: number,
): Promise<{ readonly now: number; readonly most: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const field = (name: string): number =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1])
  return { now: field('VmRSS'), most: field('VmHWM') }
}
