import express from 'express';
import { semel } from 'semel/express';

const app = express();
app.use('/charges', semel({ scope: '{header:X-Account}' })); // before body parsers
app.use(express.json());

let charges = 0;
app.post('/charges', async (req, res) => {
  charges += 1; // here you call your bank
  res.status(201).json({ id: `ch_${charges}`, amount: req.body.amount });
});

app.listen(process.env.PORT ?? 3000, () => console.log('listening'));
