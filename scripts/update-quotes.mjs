/**
 * Writes what is quoted from the code into the READMEs (`npm run docs`).
 *
 * Role: a text or figure that stands in a document comes from here, between
 * `<!-- quote: NAME -->` and `<!-- /quote -->`. `--check` changes nothing and
 * exits with 1 when a document is out of date. Needs a build.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './ensure-installed.mjs'
import { quotes } from './quotes.mjs'

const DOCUMENTS = ['README.md', 'README.zh.md']
const isCheck = process.argv.includes('--check')

for (const name of DOCUMENTS) {
  const path = join(repositoryRoot, name)
  const text = readFileSync(path, 'utf8')
  const language = name.includes('.zh.') ? 'zh' : 'en'
  const fresh = text.replace(
    /(<!-- quote: ([a-z]+) -->\n)[^]*?(<!-- \/quote -->)/gu,
    (_whole, open, quote, close) => `${open}${quotes(language)[quote]}\n${close}`,
  )
  if (fresh === text) continue
  if (isCheck) {
    console.error(`${name} is out of date; run: npm run docs`)
    process.exitCode = 1
  } else {
    writeFileSync(path, fresh)
    console.log(`${name} updated`)
  }
}
