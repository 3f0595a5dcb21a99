// Validates answers of the claims API against its description: node validate.mjs openapi.json < answers
// Each line of the input is {"path", "method", "status", "type", "body"}. Prints what does not fit; the last line is how
// many answers were looked at.
import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const document = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allowUnionTypes: true, allErrors: false });
addFormats(ajv);
ajv.addVocabulary(['components', 'paths', 'info', 'openapi', 'security']);
ajv.addSchema({ $id: 'openapi', ...document });

const escaped = (text) => encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
const validators = new Map();

function validatorOf({ path, method, status, type }) {
  const place = ['paths', path, method.toLowerCase(), 'responses', String(status), 'content', type, 'schema'];
  const name = `openapi#/${place.map(escaped).join('/')}`;
  if (!validators.has(name)) {
    const known = place.reduce((node, step) => node?.[step], document);
    validators.set(name, known ? ajv.compile({ $ref: name }) : null);
  }
  return validators.get(name);
}

let wrong = 0;
let count = 0;
for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const answer = JSON.parse(line);
  const validate = validatorOf(answer);
  count += 1;
  if (validate === null) {
    console.log(`not described: ${answer.method} ${answer.path} ${answer.status} ${answer.type}`);
    wrong += 1;
  } else if (!validate(answer.body)) {
    console.log(`${answer.path} ${answer.status}: ${JSON.stringify(answer.body)}: ${ajv.errorsText(validate.errors)}`);
    wrong += 1;
  }
}
console.log(count);
process.exit(wrong === 0 ? 0 : 1);
