import { load, isTest, ROOT } from './lib.mjs'
import fs from 'node:fs'
for (const f of load().values()) {
  if (isTest(f.path) || !f.path.startsWith('src/')) continue
  const { chunks, tail } = f.chunks()
  const statements = chunks.filter((c) => !/Declaration/.test(c.node.type))
  const lastAt = chunks.findLastIndex((c) => /Declaration/.test(c.node.type))
  const early = statements.filter((c) => chunks.indexOf(c) < lastAt)
  if (early.length === 0) continue
  console.log(f.path, early.length, early.map((c) => c.text.slice(0, 50).replace(/\n/g, ' ')).join(' | '))
  if (early.length === 1 && /^(await )?main\(/.test(early[0].text)) {
    const rest = f.text.replace(`\n${early[0].text}\n`, '').trimEnd()
    fs.writeFileSync(`${ROOT}/${f.path}`, `${rest}\n\n${early[0].text}\n`)
  }
}
