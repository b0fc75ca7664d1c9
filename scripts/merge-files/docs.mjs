import fs from 'node:fs'
import path from 'node:path'
const posix = path.posix
const ROOT = process.env.ROOT
const WRITE = process.argv.includes('--write')
const map = new Map()
for (const line of fs.readFileSync('/tmp/merge-files-moved.txt', 'utf8').split('\n').filter(Boolean)) { const [a, b] = line.split(' '); map.set(a, b) }
// later moves apply to earlier targets: resolve in order by replay
const order = fs.readFileSync('/tmp/merge-files-moved.txt', 'utf8').split('\n').filter(Boolean).map((l) => l.split(' '))
const final = new Map()
for (const [a, b] of order) { for (const [k, v] of final) if (v === a) final.set(k, b); if (!final.has(a)) final.set(a, b) }
const old = new Set(final.keys())
const out = []
for (const e of fs.readdirSync(ROOT, { recursive: true })) {
  if (!e.endsWith('.md') || e.includes('node_modules') || e.startsWith('.git')) continue
  const dir = posix.dirname(e)
  let text = fs.readFileSync(`${ROOT}/${e}`, 'utf8')
  const next = text.replace(/(?<![\w./-])((?:\.{1,2}\/)*[\w-][\w./-]*\.ts)\b/g, (all, t) => {
    const cands = [t, posix.join(dir, t), posix.join('src', t)]
    for (const [i, c] of cands.entries()) {
      if (!old.has(c)) continue
      const to = final.get(c)
      const r = i === 0 ? to : i === 1 ? posix.relative(dir, to) : to.replace(/^src\//, '')
      out.push(`${e}: ${t} -> ${r}`)
      return t.startsWith('./') ? `./${r}` : r
    }
    // unique suffix
    const hits = [...old].filter((o) => o.endsWith(`/${t}`) && (dir === '.' || dir.startsWith('docs') || o.startsWith(dir)))
    if (hits.length === 1 && !fs.existsSync(`${ROOT}/${posix.join(dir, t)}`)) {
      const to = final.get(hits[0])
      const base = hits[0].slice(0, -t.length)
      const r = to.startsWith(base) ? to.slice(base.length) : posix.basename(to)
      out.push(`${e}: ${t} ~> ${r}`)
      return r
    }
    return all
  })
  if (next !== text && WRITE) fs.writeFileSync(`${ROOT}/${e}`, next)
}
console.log(out.join('\n'))
