import { existsSync, lchownSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The store, one that is being restored, the lock, and what SQLite keeps beside them. */
const OF_THE_STORE = /^(?:store\.sqlite|restored\.sqlite|lock)/

/**
 * Changes the owner of the files of the store to that of the data directory, so that a
 * server without privileges can open what root has restored. Only root
 * can do so, and only root needs it.
 */
export function giveToOwner(dataDir: string): void {
  if (process.getuid?.() !== 0 || !existsSync(dataDir)) return
  const { uid, gid } = statSync(dataDir)
  const names = readdirSync(dataDir).filter((name) => OF_THE_STORE.test(name))
  for (const name of names) lchownSync(join(dataDir, name), uid, gid)
}
