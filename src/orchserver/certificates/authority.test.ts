import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../testing/new-folder.ts'
import { openAuthority } from './authority.ts'

it('is the same one for all that make it at the same time', async () => {
  const folder = join(newFolder(), 'pki')
  const opened = await Promise.all(
    Array.from({ length: 8 }, () => openAuthority(folder, Date.now())),
  )
  const cert = readFileSync(join(folder, 'ca.crt'), 'utf8')
  const key = readFileSync(join(folder, 'ca.key'), 'utf8')
  for (const authority of opened) expect(authority).toMatchObject({ cert, key })
})
