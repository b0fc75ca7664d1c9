import { load, resolve, relative, ROOT } from './lib.mjs'
import fs from 'node:fs'
import path from 'node:path'
const pairs = process.argv.slice(2).map((a) => a.split('='))
const to = new Map(pairs)
for (const [a, b] of pairs) { const ta = a.replace(/\.ts$/, '.test.ts'); if (fs.existsSync(`${ROOT}/${ta}`)) to.set(ta, b.replace(/\.ts$/, '.test.ts')) }
const files = load()
for (const f of files.values()) {
  const at = to.get(f.path) ?? f.path
  let t = f.text
  for (const s of f.sources().sort((a, b) => b.lit.start - a.lit.start)) {
    if (!s.spec.startsWith('.')) continue
    const target = resolve(f.path, s.spec), dest = to.get(target) ?? target
    if (dest === target && at === f.path) continue
    t = `${t.slice(0, s.lit.start)}'${relative(at, dest)}'${t.slice(s.lit.end)}`
  }
  if (t !== f.text) fs.writeFileSync(`${ROOT}/${f.path}`, t)
}
for (const [a, b] of to) { fs.mkdirSync(path.dirname(`${ROOT}/${b}`), { recursive: true }); fs.renameSync(`${ROOT}/${a}`, `${ROOT}/${b}`); fs.appendFileSync('/tmp/merge-files-moved.txt', `${a} ${b}\n`) }
for (const [a] of to) { const d = path.dirname(`${ROOT}/${a}`); if (fs.readdirSync(d).length === 0) fs.rmdirSync(d) }
