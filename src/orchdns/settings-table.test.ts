import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { SETTINGS_TABLE } from './program.ts'

test('docs/operate/dns.md has a row for each setting', async () => {
  const page = new URL('../../docs/operate/dns.md', import.meta.url)
  const rows = (await readFile(page, 'utf8')).split('\n')
  for (const [path, field] of SETTINGS_TABLE.entries) {
    const flag = field.flag === 'v' ? '`-v`' : `\`--${field.flag}\``
    const fallback = JSON.stringify(field.type.encode(field.fallback))
    expect(rows).toContain(`| \`${path}\` | ${flag} | \`${fallback}\` | ${field.doc} |`)
  }
})
